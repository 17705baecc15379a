export { RECONCILED_CONTEXTS } from './reconciledContexts.ts';
