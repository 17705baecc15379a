export type { Identities } from './identities.ts';
export { createIdentityFlows, type IdentityFlowNeeds, type IdentityFlows } from './identityFlows.ts';
export { IdentityKeyMismatchError, requireIdentityKey } from './identityHash.ts';
export { createPersonalData, type PersonalData } from './personalData.ts';
