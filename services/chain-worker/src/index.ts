export * from './chainWorkerRole.ts';
export { createRentSponsor, type RentCaps } from './rentSponsor.ts';
export { migrateChainWorker, pauseSigning } from './signingPause.ts';
