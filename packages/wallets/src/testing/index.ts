export { createSigner } from '../signer.ts';
export * from './exportedKeys.ts';
export * from './playersOnChain.ts';
export * from './signingWorld.ts';
export * from './testChain.ts';
export * from './walletContexts.ts';
export * from './walletProcesses.ts';
export * from './walletsWithoutKeys.ts';
