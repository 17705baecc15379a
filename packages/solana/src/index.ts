export { type Chains, noChains, type OpenChains, type OwnTestChain, openChains } from './chains.ts';
export { chainErrors, chainNotConfigured } from './errors.ts';
export { mintDecimals, NATIVE_DECIMALS } from './mintDecimals.ts';
export {
  type Address,
  type Chain,
  type ChainAccount,
  ChainUnreachableError,
  type Commitment,
  type ExecutedTransaction,
  type KeptHistory,
  type RecentBlockhash,
  type Signature,
  type TokenAccount,
  type TransactionStatus,
  TransactionUnreadableError,
} from './port.ts';
export {
  type DecodedInstruction,
  decodeInstruction,
} from './programs/decodeInstruction.ts';
export type { SingleTokenInstruction } from './programs/decodeToken.ts';
export { decodeTokenState, type TokenState } from './programs/decodeTokenState.ts';
export {
  ASSOCIATED_TOKEN_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  TOKEN_PROGRAMS,
} from './programs/ids.ts';
export { LOADER_PROGRAMS, LOOKUP_TABLE_PROGRAM, STAKING_PROGRAMS } from './programs/inspectedIds.ts';
export { referenceOf } from './reference.ts';
export { type ResolvedTransaction, resolveLookups } from './resolveLookups.ts';
export {
  canSpare,
  movableOf,
  planTransfer,
  type Transfer,
  type TransferPlan,
  type TransferProblem,
} from './transferPlan.ts';
export { associatedTokenAddress } from './web3/addresses.ts';
export {
  buildTransfer,
  MAX_TRANSACTION_BYTES,
  signatureOf,
  type TransferOrder,
  type UnsignedTransaction,
} from './web3/buildTransfer.ts';
export {
  decodeTransaction,
  TransactionFormatError,
  withSignature,
} from './web3/decodeTransaction.ts';
export { createRpcChain } from './web3/rpcChain.ts';
