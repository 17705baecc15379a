export { treasuryContext } from './context.ts';
export { finalFundsOf } from './onChain.ts';
