export { CHAIN_WORKERS } from './chainWorkerRole.ts';
export { chainWorkerContext, rentContext } from './context.ts';
export { pauseSigning } from './signingPause.ts';
