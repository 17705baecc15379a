export * from './chainWorkerRole.ts';
export { chainWorkerContext, rentContext } from './context.ts';
export { createRentSponsor, type RentCaps } from './rentSponsor.ts';
export { pauseSigning } from './signingPause.ts';
