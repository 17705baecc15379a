export { setBlocksAside } from './blocksTable.ts';
export { chainOfLog } from './chainedEntries.ts';
export { CHAIN_CONSUMER } from './chainProjection.ts';
export { auditContext } from './context.ts';
export { auditErrors } from './errors.ts';
export { type ImportedChain, importChainedLog } from './importChainedLog.ts';
export { auditMigrations } from './migrations.ts';
