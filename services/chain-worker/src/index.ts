export * from './chainWorkerRole.ts';
export { migrateChainWorker, pauseSigning } from './signingPause.ts';
