export * from './chains.ts';
export { chainErrors, chainNotConfigured } from './errors.ts';
export * from './mintDecimals.ts';
export * from './port.ts';
export * from './programs/computeBudget.ts';
export {
  type DecodedInstruction,
  decodeInstruction,
} from './programs/decodeInstruction.ts';
export type { SingleTokenInstruction } from './programs/decodeToken.ts';
export { decodeTokenState, type TokenState } from './programs/decodeTokenState.ts';
export * from './programs/ids.ts';
export * from './programs/inspectedIds.ts';
export type { AccountMeta, Instruction } from './programs/instruction.ts';
export * from './programs/memo.ts';
export { decodeMint, type Mint, mintProblem } from './programs/mint.ts';
export * from './programs/system.ts';
export * from './programs/token.ts';
export * from './programs/tokenAccount.ts';
export type { ExtensionName } from './programs/tokenExtensions.ts';
export * from './reference.ts';
export * from './resolveLookups.ts';
export * from './transferPlan.ts';
export * from './web3/addresses.ts';
export * from './web3/buildTransfer.ts';
export {
  type DecodedTransaction,
  decodeTransaction,
  TransactionFormatError,
  withSignature,
} from './web3/decodeTransaction.ts';
export { createRpcChain, type RpcChainOptions } from './web3/rpcChain.ts';
