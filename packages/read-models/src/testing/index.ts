export { startReadModels } from '../readModels.ts';
export { readModelsTemplate } from './migrateReadModels.ts';
export * from './rows.ts';
