export {
  createEmbeddedChain,
  type EmbeddedChain,
  type EmbeddedChainOptions,
  type MintOptions,
} from './embeddedChain.ts';
export type { Fault, FaultInput, FaultObserver } from './faults.ts';
export {
  type ChainExit,
  type ChainProcess,
  type ChainProcessOptions,
  EmbeddedChainError,
  startEmbeddedChain,
} from './startEmbeddedChain.ts';
