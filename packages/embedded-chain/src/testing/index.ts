/** For specs of this package and of others: a chain in this process. */
export { type ChainWorld, callRpc, startChainWorld } from './chainWorld.ts';
