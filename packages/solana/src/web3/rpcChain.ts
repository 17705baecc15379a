/** The chain port over Solana's JSON-RPC, using one or more nodes. */
import { createCoalescingCache } from '@coffer/kernel';
import { z } from 'zod';
import {
  type Address,
  type Chain,
  ChainUnreachableError,
  type Commitment,
  type KnownTransaction,
  type SendOutcome,
  type TokenAccount,
  TransactionUnreadableError,
} from '../port.ts';
import { TOKEN_PROGRAMS } from '../programs/ids.ts';
import { decodeTokenAccount } from '../programs/tokenAccount.ts';
import { absenceOn, HISTORY_NOT_KEPT, historyOn } from './absence.ts';
import { u64Figure } from './losslessJson.ts';
import { isLostOn } from './lost.ts';
import { NODE_UNHEALTHY, type NodePool, NodesFailedError, nodePool, refusalOf } from './nodePool.ts';
import {
  accountsAnswer,
  blockhashAnswer,
  ownedAccountsAnswer,
  priorityFeesAnswer,
  signaturesAnswer,
  simulationAnswer,
  statusesAnswer,
  transactionAnswer,
} from './rpcAnswers.ts';
import { type RpcNode, rpcNode } from './rpcNode.ts';

export interface RpcChainOptions {
  /** In the order in which they are asked. All of them must agree before a transaction counts as lost. */
  readonly urls: readonly string[];
  /** For one call to one node. */
  readonly timeoutMs: number;
  /** How long a failed node is asked last. */
  readonly restMs?: number;
  readonly maxAnswerBytes?: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

const DEFAULT_REST_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Limits of one call. */
const STATUSES_PER_CALL = 256;
const ACCOUNTS_PER_CALL = 100;
const FEE_ACCOUNTS_PER_CALL = 128;
/** The minimum balance changes with the rules of the cluster, if ever, so an answer is cached for this long. */
const RENT_LIFETIME_MS = 60_000;
const REMEMBERED_RENTS = 100;
/** "Transaction version is not supported by the requesting client". */
const UNSUPPORTED_TRANSACTION_VERSION = -32015;

export function createRpcChain(options: RpcChainOptions): Chain {
  const { urls, timeoutMs, restMs = DEFAULT_REST_MS, nowMs = () => performance.now() } = options;
  if (urls.length === 0) throw new Error('A chain needs the address of at least one node.');
  const closing = new AbortController();
  const nodes = urls.map((url, index) =>
    rpcNode({
      name: `node ${index + 1}`,
      url,
      timeoutMs,
      maxAnswerBytes: options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      signal: closing.signal,
    }),
  );
  const pool = nodePool(nodes, { restMs, nowMs });
  const rents = createCoalescingCache({
    load: (bytes) =>
      pool.first(({ call }) => call('getMinimumBalanceForRentExemption', [Number(bytes)], u64Figure)),
    lifetimeMs: RENT_LIFETIME_MS,
    maximumEntries: REMEMBERED_RENTS,
    nowMs,
  });

  return {
    async latestBlockhash() {
      const { value } = await pool.first(({ call }) =>
        call('getLatestBlockhash', [{ commitment: 'confirmed' }], blockhashAnswer),
      );
      return value;
    },

    send: (transaction) => sendBy(pool, transaction),

    async statuses(signatures) {
      const pages = inPages(signatures, STATUSES_PER_CALL).map((page) =>
        pool.first(({ call }) =>
          call('getSignatureStatuses', [page, { searchTransactionHistory: true }], statusesAnswer(page)),
        ),
      );
      return (await Promise.all(pages)).flat();
    },

    isLost: (signature, lastValidBlockHeight) => isLostOn(pool, signature, lastValidBlockHeight),

    simulate: (transaction, accounts) =>
      pool.first(({ call }) =>
        call(
          'simulateTransaction',
          [
            Buffer.from(transaction).toString('base64'),
            {
              encoding: 'base64',
              commitment: 'confirmed',
              sigVerify: false,
              accounts: { encoding: 'base64', addresses: accounts },
            },
          ],
          simulationAnswer(accounts),
        ),
      ),

    async accounts(addresses, commitment) {
      if (addresses.length === 0) return [];
      if (addresses.length > ACCOUNTS_PER_CALL)
        throw new RangeError(`At most ${ACCOUNTS_PER_CALL} accounts at once.`);
      return pool.first(({ call }) =>
        call(
          'getMultipleAccounts',
          [addresses, { encoding: 'base64', commitment }],
          accountsAnswer(addresses),
        ),
      );
    },

    tokenAccountsOf: (owner, commitment) =>
      pool.first(async ({ call }) => {
        const found = await Promise.all(
          TOKEN_PROGRAMS.map((programId) => tokenAccounts(call, owner, programId, commitment)),
        );
        return found.flat();
      }),

    rentMinimum: async (bytes) => rents.get(String(bytes)),

    async recentPriorityFee(writable) {
      const asked = writable.slice(0, FEE_ACCOUNTS_PER_CALL);
      const fees = await pool.first(({ call }) =>
        call('getRecentPrioritizationFees', [asked], priorityFeesAnswer),
      );
      const sorted = fees.toSorted((one, other) => (one < other ? -1 : 1));
      return sorted[Math.floor(sorted.length / 2)] ?? 0n;
    },

    async transactionsOf(address, { limit, before, until }) {
      // Every node that answers: one may know what another has forgotten, or not seen yet.
      const range = { limit, before, until, commitment: 'confirmed' };
      const { said, failed } = await pool.all(({ call }) =>
        call('getSignaturesForAddress', [address, range], signaturesAnswer),
      );
      if (said.length === 0) throw new NodesFailedError(failed);
      return newestOf(
        said.flatMap(({ answer }) => answer),
        limit,
      );
    },

    async transaction(signature) {
      const question = transactionAnswer(signature);
      const config = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
      const { said, failed } = await pool.all(({ call }) =>
        call('getTransaction', [signature, config], question),
      );
      const [known] = said.flatMap(({ answer }) => answer ?? []);
      if (known) return known;
      const isKeptNowhere = failed.every(({ error }) => refusalOf(error)?.code === HISTORY_NOT_KEPT);
      if (failed.some(({ error }) => refusalOf(error)?.code === UNSUPPORTED_TRANSACTION_VERSION))
        throw new TransactionUnreadableError(`${signature} is of an unknown version.`);
      if (said.length === 0 && !isKeptNowhere) throw new NodesFailedError(failed);
      return undefined;
    },

    absence: (signature, slot) => absenceOn(pool, signature, slot),

    history: () => historyOn(pool),

    async close() {
      closing.abort(new ChainUnreachableError('The chain was closed.'));
    },
  };
}

async function sendBy(pool: NodePool, transaction: Uint8Array): Promise<SendOutcome> {
  // The blockhash's commitment tells the node how long to forward the bytes, even without preflight.
  const config = {
    encoding: 'base64',
    skipPreflight: true,
    preflightCommitment: 'confirmed',
    maxRetries: 0,
  };
  const bytes = Buffer.from(transaction).toString('base64');
  try {
    await pool.any((node) => node.call('sendTransaction', [bytes, config], z.string()));
    return { outcome: 'accepted' };
  } catch (error) {
    if (!(error instanceof NodesFailedError)) throw error;
    const refusals = error.failed.flatMap((failed) => refusalOf(failed.error) ?? []);
    const [refusal] = refusals.filter(({ code }) => code !== NODE_UNHEALTHY);
    if (!refusal) throw error;
    return { outcome: 'refused', reason: refusal.message };
  }
}

async function tokenAccounts(
  call: RpcNode['call'],
  owner: Address,
  programId: Address,
  commitment: Commitment,
): Promise<readonly TokenAccount[]> {
  const params = [owner, { programId }, { encoding: 'base64', commitment }];
  const accounts = await call('getTokenAccountsByOwner', params, ownedAccountsAnswer);
  return accounts.map((account) => {
    const decoded = decodeTokenAccount(account);
    // Leaving it out would make money invisible.
    if (!decoded) throw new ChainUnreachableError(`${account.address} is not a token account.`);
    return decoded;
  });
}

/** Merges the lists of several nodes, newest first, without duplicates. */
function newestOf(found: readonly KnownTransaction[], limit: number): readonly KnownTransaction[] {
  const known = new Map(found.map((transaction) => [transaction.signature, transaction]));
  // A stable sort: within a slot the node's order stays.
  return [...known.values()].sort((one, other) => Number(other.slot - one.slot)).slice(0, limit);
}

function inPages<T>(items: readonly T[], size: number): T[][] {
  const pages: T[][] = [];
  for (let at = 0; at < items.length; at += size) pages.push(items.slice(at, at + size));
  return pages;
}
