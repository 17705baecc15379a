export {
  createEmbeddedChain,
  type EmbeddedChain,
  type EmbeddedChainOptions,
  type MintOptions,
} from './embeddedChain.ts';
