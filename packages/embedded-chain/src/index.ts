export {
  type ChainProcess,
  EmbeddedChainError,
  startEmbeddedChain,
} from './startEmbeddedChain.ts';
