export * from './chain/chainReconciler.ts';
export * from './chain/chainReport.ts';
export { reconcileErrors } from './errors.ts';
export { migrateReconcile } from './migrate.ts';
export * from './reconciler.ts';
export * from './report.ts';
export type { TransactionUse, TransactionUseOf } from './transactionUuids.ts';
export { verifiedSchemas } from './verified.ts';
