export * from './chainWorkerRole.ts';
export { createRentSponsor, type RentCaps } from './rentSponsor.ts';
export { chainWorkerMigrations, pauseSigning } from './signingPause.ts';
