export { treasuryContext } from './context.ts';
export { treasuryErrors } from './errors.ts';
export { finalFundsOf } from './onChain.ts';
export type { TreasuryCurrency } from './parties.ts';
export { treasuryEndpoints } from './routes.ts';
export type { TransferRequest } from './schemas.ts';
export { cashOutHoldAct, treasuryDues } from './treasury.reactions.ts';
export * from './treasury.ts';
