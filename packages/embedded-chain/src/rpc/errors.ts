/** Errors with the numbers and the words of Solana's nodes. */
import { describeTransactionError, type TransactionError } from '../transactionError.ts';

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const parseError = () => new RpcError(-32700, 'Parse error');
export const invalidRequest = () => new RpcError(-32600, 'Invalid request');
export const methodNotFound = () => new RpcError(-32601, 'Method not found');
export const invalidParams = (message: string) => new RpcError(-32602, message);
export const invalidRequestFor = (message: string) => new RpcError(-32600, message);
export const internalError = () => new RpcError(-32603, 'Internal error');

export const blockCleanedUp = (slot: bigint, first: bigint) =>
  new RpcError(-32001, `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`);
export const blockNotAvailable = (slot: bigint) =>
  new RpcError(-32004, `Block not available for slot ${slot}`);
export const preflightFailed = (error: TransactionError, simulated: object) =>
  new RpcError(-32002, `Transaction simulation failed: ${describeTransactionError(error)}`, simulated);
export const slotSkipped = (slot: bigint) =>
  new RpcError(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
export const signatureInvalid = () => new RpcError(-32003, 'Transaction signature verification failure');
export const nodeBehind = (slots: number) =>
  new RpcError(-32005, `Node is behind by ${slots} slots`, { numSlotsBehind: slots });
export const scanTooLarge = () => new RpcError(-32012, 'The accumulated scan results exceeded the limit');
export const versionUnsupported = (version: number) =>
  new RpcError(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again ` +
      `with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  );
export const contextSlotNotReached = (contextSlot: bigint) =>
  new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot });
