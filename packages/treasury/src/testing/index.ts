export * from './appsOnChain.ts';
