export * from './chainWorkerRole.ts';
