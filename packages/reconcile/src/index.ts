export * from './reconciler.ts';
export * from './report.ts';
export type { TransactionUse, TransactionUseOf } from './transactionUuids.ts';
export { VERIFIED_SCHEMA } from './verified.ts';
