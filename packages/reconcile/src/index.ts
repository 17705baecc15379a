export * from './reconciler.ts';
export * from './report.ts';
export type { TransactionUse, TransactionUseOf } from './transactionUuids.ts';
export { verifiedSchemas } from './verified.ts';
