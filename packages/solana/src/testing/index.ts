/** For specs of this package and of others: the chain in memory, and wallets that sign. */
export * from '../memory/memoryChain.ts';
export * from './testWallet.ts';
