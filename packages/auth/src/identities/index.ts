export { identityEvents } from './domain/identity.events.ts';
export { identity, identityStreamName } from './domain/identity.ts';
export * from './erasure.ts';
export * from './identities.ts';
export * from './identity.reactions.ts';
export * from './identityFlows.ts';
export * from './identityHash.ts';
export * from './personalData.ts';
