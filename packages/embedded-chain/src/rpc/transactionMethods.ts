/** Sending, simulating and finding transactions. */
import { decodeBase58, encodeBase58 } from '@coffer/kernel';
import { parseJson } from '../json.ts';
import { feeOf } from '../ledger/fees.ts';
import type { StoredTransaction } from '../ledger/store.ts';
import { verifySignatures } from '../signatures.ts';
import type { TransactionError } from '../transactionError.ts';
import type { SimulatedExecution } from '../vm.ts';
import { type Message, readMessage, readTransaction, WireError, type WireTransaction } from '../wire.ts';
import { accountJson } from './accountJson.ts';
import { assertConfirmed } from './blockMethods.ts';
import { type Method, type RpcContext, slotFor, withContext } from './context.ts';
import { invalidParams, preflightFailed, signatureInvalid } from './errors.ts';
import { asAddress, asSignature, type Settings } from './params.ts';
import { assertVersion, recordedTransaction, transactionInBlock } from './transactionJson.ts';

const MAXIMUM_SIGNATURES = 256;
const DEFAULT_PAGE = 1000;
/** Without a search of the history, a node knows this many slots. */
const STATUS_CACHE_SLOTS = 300n;

export const transactionMethods: Readonly<Record<string, Method>> = {
  getFeeForMessage: (params, context) => {
    const message = asMessage(params.string(0));
    const slot = slotFor(context, params.settings(1));
    const isUsable = context.ledger.isInTime(message, slot);
    return withContext(slot, isUsable ? feeOf(message) : null);
  },

  sendTransaction: (params, context) => {
    const settings = params.settings(1);
    const wire = asTransaction(params.string(0), settings.encoding ?? 'base58');
    const slot = slotFor(context, settings, settings.preflightCommitment ?? 'finalized');
    const isTakenAgain = context.ledger.status(wire.signature) && context.faults.takeDuplicate();
    if (isTakenAgain) return wire.signature;
    if (!settings.skipPreflight) {
      if (!verifySignatures(wire)) throw signatureInvalid();
      const { error, execution } = simulate(wire, slot, context, true);
      if (error !== null)
        throw preflightFailed(error, { accounts: null, ...simulationJson(error, execution) });
    }
    // Like a node, it accepts what it cannot put into a block, and does not say so.
    context.faults.land(wire);
    return wire.signature;
  },

  simulateTransaction: (params, context) => {
    const settings = params.settings(1);
    const sent = asTransaction(params.string(0), settings.encoding ?? 'base58');
    const { sigVerify, replaceRecentBlockhash } = settings;
    if (sigVerify && replaceRecentBlockhash) {
      throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
    }
    if (sigVerify && !verifySignatures(sent)) throw signatureInvalid();
    const slot = slotFor(context, settings);
    const replacement = replaceRecentBlockhash ? context.ledger.blockhashAt(slot) : undefined;
    const { error, execution } = simulate(sent, slot, context, !replacement);
    const accounts = context.ledger.accountsOf(sent.message, slot)?.all ?? sent.message.staticKeys;
    return withContext(slot, {
      ...simulationJson(error, execution),
      accounts: simulatedAccounts(settings, error, execution, slot, context),
      ...(settings.innerInstructions && { innerInstructions: innerJson(execution, accounts) }),
      replacementBlockhash: replacement ?? null,
    });
  },

  getSignatureStatuses: (params, context) => {
    const signatures = params.strings(0, MAXIMUM_SIGNATURES).map(asSignature);
    const { searchTransactionHistory } = params.settings(1);
    const tip = context.faults.tip();
    return withContext(
      tip,
      signatures.map((signature) => {
        const found = context.ledger.status(signature);
        if (!found || found.slot > tip || found.slot < context.faults.statusesFrom()) return null;
        if (!searchTransactionHistory && found.slot <= tip - STATUS_CACHE_SLOTS) return null;
        return statusJson(found, tip, context);
      }),
    );
  },

  getTransaction: (params, context) => {
    const settings = assertConfirmed(params.encodingSettings(1));
    const record = context.ledger.transaction(asSignature(params.string(0)));
    if (!record || record.slot > slotFor(context, settings)) return null;
    if (record.slot < context.faults.keptFrom()) return null;
    const recorded = recordedTransaction(record);
    const withVersion = assertVersion(recorded, settings.maxSupportedTransactionVersion);
    return {
      slot: record.slot,
      blockTime: record.blockTimeSeconds,
      ...transactionInBlock(recorded, settings.encoding ?? 'json', withVersion),
    };
  },

  getSignaturesForAddress: (params, context) => {
    const settings = assertConfirmed(params.settings(1));
    const uptoSlot = slotFor(context, settings);
    const before = settings.before ? context.ledger.status(asSignature(settings.before)) : undefined;
    const until = settings.until ? context.ledger.status(asSignature(settings.until)) : undefined;
    // A node that does not know the one to continue from has nothing to show.
    if (settings.before && !before) return [];
    const page = { limit: settings.limit ?? DEFAULT_PAGE, uptoSlot };
    const tip = context.faults.tip();
    return context.ledger
      .transactionsNaming(params.address(0), { ...page, before: before?.sequence, until: until?.sequence })
      .filter(({ slot }) => slot >= context.faults.keptFrom())
      .map((found) => ({
        signature: found.signature,
        slot: found.slot,
        err: errorOf(found),
        memo: found.memo,
        blockTime: found.blockTimeSeconds,
        confirmationStatus: context.ledger.commitmentOf(found.slot, tip),
      }));
  },
};

function asBytes(text: string, encoding: string): Uint8Array {
  if (encoding === 'base64') {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64') !== text) throw invalidParams('invalid base64 encoding');
    return bytes;
  }
  if (encoding !== 'base58')
    throw invalidParams(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  // Anything longer is not a transaction, and would take long to decode.
  const bytes = text.length <= 1683 ? decodeBase58(text) : undefined;
  if (!bytes) throw invalidParams('invalid base58 encoding, or too large');
  return bytes;
}

function readAs<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw invalidParams(`failed to deserialize: ${error.message}`);
    throw error;
  }
}

const asTransaction = (text: string, encoding: string): WireTransaction =>
  readAs(() => readTransaction(asBytes(text, encoding)));
const asMessage = (text: string): Message => readAs(() => readMessage(asBytes(text, 'base64')));

const NOT_EXECUTED: SimulatedExecution = {
  error: null,
  logs: [],
  unitsConsumed: 0n,
  innerInstructions: [],
  returnData: null,
  accounts: new Map(),
};

function simulate(wire: WireTransaction, slot: bigint, { ledger }: RpcContext, checkBlockhash: boolean) {
  const refusal = (error: TransactionError) => ({ error, execution: NOT_EXECUTED });
  if (checkBlockhash && !ledger.isInTime(wire.message, slot)) return refusal('BlockhashNotFound');
  const earlier = ledger.status(wire.signature);
  if (checkBlockhash && earlier && earlier.slot <= slot) return refusal('AlreadyProcessed');
  const execution = ledger.simulate(wire, slot, false);
  return { error: execution.error, execution };
}

function simulationJson(error: TransactionError | null, execution: SimulatedExecution) {
  const { returnData, logs, unitsConsumed } = execution;
  return {
    err: error,
    logs,
    unitsConsumed,
    innerInstructions: null,
    returnData: returnData && {
      programId: returnData.program,
      data: [Buffer.from(returnData.data).toString('base64'), 'base64'],
    },
  };
}

function simulatedAccounts(
  { accounts: wanted }: Settings,
  error: TransactionError | null,
  execution: SimulatedExecution,
  slot: bigint,
  { ledger }: RpcContext,
) {
  if (!wanted) return null;
  const addresses = wanted.addresses.map(asAddress);
  if (error !== null) return addresses.map(() => null);
  const account = (address: string) => execution.accounts.get(address) ?? ledger.accountAt(address, slot);
  return addresses.map((address) => {
    const state = account(address);
    return state ? accountJson(state, { encoding: wanted.encoding ?? 'base64', account }) : null;
  });
}

function innerJson({ innerInstructions }: SimulatedExecution, accounts: readonly string[]) {
  return innerInstructions.flatMap((list, index) => {
    const instructions = list.map((inner) => ({
      programId: accounts[inner.programIndex],
      accounts: inner.accounts.map((at) => accounts[at]),
      data: encodeBase58(inner.data),
      stackHeight: inner.stackHeight,
    }));
    return instructions.length === 0 ? [] : [{ index, instructions }];
  });
}

const errorOf = (found: StoredTransaction) => (found.error === null ? null : parseJson(found.error));

function statusJson(found: StoredTransaction, tip: bigint, { ledger }: RpcContext) {
  const err = errorOf(found);
  const confirmationStatus = ledger.commitmentOf(found.slot, tip);
  return {
    slot: found.slot,
    confirmations: confirmationStatus === 'finalized' ? null : tip - found.slot,
    err,
    status: err === null ? { Ok: null } : { Err: err },
    confirmationStatus,
  };
}
