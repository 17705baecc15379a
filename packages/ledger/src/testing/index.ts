export type { Asked, Attempt, Call, Place, Received, Run } from './attempts.ts';
export { type Applied, type Explained, explain } from './history.ts';
export { LEDGER_CONTEXTS } from './ledgerContexts.ts';
export type { Books, Contents, Operation, Step } from './operations.ts';
export { SEED } from './seed.ts';
export { useLedger, useLedgerIn } from './useLedger.ts';
