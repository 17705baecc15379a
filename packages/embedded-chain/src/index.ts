export {
  createEmbeddedChain,
  type EmbeddedChain,
  type EmbeddedChainOptions,
} from './embeddedChain.ts';
export type { Fault, FaultInput } from './faults.ts';
export {
  type ChainProcess,
  EmbeddedChainError,
  startEmbeddedChain,
} from './startEmbeddedChain.ts';
