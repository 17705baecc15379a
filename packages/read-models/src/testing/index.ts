export { startReadModels } from '../readModels.ts';
export { keptPlans } from './keptPlans.ts';
export { readModelsTemplate } from './migrateReadModels.ts';
export * from './rows.ts';
