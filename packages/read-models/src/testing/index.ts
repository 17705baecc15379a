export { startReadModels } from '../readModels.ts';
export { openPool, readModelsTemplate } from './migrateReadModels.ts';
export * from './rows.ts';
