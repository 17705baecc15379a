export { treasuryContext } from './context.ts';
export { treasuryErrors } from './errors.ts';
export { finalFundsOf } from './onChain.ts';
export type { TransferRequest, TreasuryCurrency } from './parties.ts';
export { treasuryEndpoints } from './routes.ts';
export { cashOutHoldAct, treasuryDues } from './treasury.reactions.ts';
export * from './treasury.ts';
