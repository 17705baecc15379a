/** For specs of this package and of others: a chain in this process. */
export {
  createEmbeddedChain,
  type EmbeddedChain,
  type EmbeddedChainOptions,
} from '../embeddedChain.ts';
export type { Fault, FaultInput } from '../faults.ts';
export { type ChainWorld, callRpc, startChainWorld } from './chainWorld.ts';
