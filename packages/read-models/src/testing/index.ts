export { startReadModels } from '../readModels.ts';
export * from './rows.ts';
