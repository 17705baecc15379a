/**
 * The chain port in memory, for fast specs. Nothing happens by itself: blocks are made by hand, each send, loss, delay
 * and fork is arranged, and the same steps give the same bytes every time.
 */
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { decodeBase58Address } from '@coffer/kernel';
import {
  type Address,
  type Chain,
  ChainUnreachableError,
  type Commitment,
  type KnownTransaction,
  type Signature,
} from '../port.ts';
import { signatureOf } from '../web3/buildTransfer.ts';
import { type ReadTransaction, readTransaction } from '../web3/readTransaction.ts';
import { chainAccountAt, rentOf, tokenAccountAt } from './accounts.ts';
import { execute } from './execute.ts';
import { type Gifts, gifts } from './gifts.ts';
import { BLOCKHASH_LIFE_BLOCKS, type Block, createBlocks, isRecent } from './memoryBlocks.ts';

export interface MemoryChain extends Chain, Gifts {
  /** Makes a number of blocks, one by default. What was sent lands in the first block that it can. */
  readonly advance: (blocks?: number) => void;
  /** Everything sent so far has landed, if it ever will, and is final. */
  readonly finalize: () => void;
  /** The finalized height is above this one. */
  readonly advancePast: (blockHeight: bigint) => void;
  /** Undoes the newest blocks, which must not be final. Their transactions land again, or are lost. */
  readonly fork: (blocks: number, fate: 'landsAgain' | 'isLost') => void;

  readonly setPriorityFee: (microLamports: bigint) => void;

  /** The next sends are accepted and dropped. */
  readonly dropNext: (sends?: number) => void;
  /** The next send lands only after this many blocks. */
  readonly delayNext: (blocks: number) => void;
  /**
   * The next calls of the method throw a `ChainUnreachableError`: before they have done anything, or after, so that
   * only the answer is lost.
   */
  readonly failNext: (method: FallibleMethod, when?: 'before' | 'after', calls?: number) => void;
  /** `statuses` does not know it, like a lagging node, until `reveal`. `isLost` is not deceived. */
  readonly hide: (signature: Signature) => void;
  readonly reveal: (signature: Signature) => void;

  /** Like a node that prunes: forgets what is final by now. Statuses are kept longer, or not. */
  readonly prune: (statuses?: 'kept' | 'forgotten') => void;

  /** Everything given to `send`, dropped or not, in order. */
  readonly sent: readonly Uint8Array[];
  readonly blockHeight: (commitment: Commitment) => bigint;
}

type FallibleMethod = Exclude<keyof Chain, 'close'>;

export interface MemoryChainOptions {
  /** How many blocks the other commitments are behind the newest one. */
  readonly confirmedDepth?: number;
  readonly finalizedDepth?: number;
}

/** Calls that fail as a spec has told them to. */
function createFailures() {
  const failures: { method: FallibleMethod; when: 'before' | 'after' }[] = [];
  return { answering, failNext };

  /** Runs the method, failing as arranged. */
  async function answering<T>(method: FallibleMethod, act: () => T): Promise<T> {
    const index = failures.findIndex((failure) => failure.method === method);
    const [failure] = index < 0 ? [] : failures.splice(index, 1);
    if (failure?.when === 'before') throw new ChainUnreachableError(`${method} fails on purpose.`);
    const answer = act();
    if (failure) throw new ChainUnreachableError(`${method} fails on purpose, after it was done.`);
    return answer;
  }

  function failNext(method: FallibleMethod, when: 'before' | 'after' = 'before', calls = 1): void {
    for (let index = 0; index < calls; index++) failures.push({ method, when });
  }
}

export function memoryChain(options: MemoryChainOptions = {}): MemoryChain {
  const depths: Record<Commitment, number> = {
    processed: 0,
    confirmed: options.confirmedDepth ?? 1,
    finalized: options.finalizedDepth ?? 4,
  };
  const sent: Uint8Array[] = [];
  const hidden = new Set<Signature>();
  /** The first slot kept. */
  let keptFrom = 0n;
  let statusesFrom = 0n;
  const { answering, failNext } = createFailures();
  const blocks = createBlocks(depths);
  const { waiting, makeBlock, upTo, findLanded, commitmentOf } = blocks;
  const blockAt = blocks.at;
  let sendsToDrop = 0;
  let delay = 0n;
  let priorityFee = 0n;

  return {
    latestBlockhash: () =>
      answering('latestBlockhash', () => {
        const { hash, height } = blockAt('confirmed');
        return { blockhash: hash, lastValidBlockHeight: height + BLOCKHASH_LIFE_BLOCKS };
      }),

    send: (bytes) =>
      answering('send', () => {
        sent.push(bytes);
        const transaction = readTransaction(bytes);
        if (!isSigned(transaction)) return { outcome: 'refused', reason: 'signature verification failed' };
        const notBefore = blocks.newestHeight() + 1n + delay;
        delay = 0n;
        if (sendsToDrop > 0) sendsToDrop--;
        else if (!waiting.has(signatureOf(bytes)))
          waiting.set(signatureOf(bytes), { transaction, notBefore });
        return { outcome: 'accepted' };
      }),

    statuses: (signatures) =>
      answering('statuses', () =>
        signatures.map((signature) => {
          const found = hidden.has(signature) ? undefined : findLanded(signature);
          if (!found || found.block.slot < statusesFrom) return undefined;
          return {
            slot: found.block.slot,
            commitment: commitmentOf(found.block),
            error: found.executed.error,
          };
        }),
      ),

    isLost: (signature, lastValidBlockHeight) =>
      answering(
        'isLost',
        () => blockAt('finalized').height > lastValidBlockHeight && findLanded(signature) === undefined,
      ),

    simulate: (bytes, addresses) =>
      answering('simulate', () => {
        const transaction = readTransaction(bytes);
        const failed = (error: string) => ({ error, logs: [], unitsConsumed: 0n, accounts: [] });
        if (!isRecent(transaction.blockhash, upTo('confirmed'))) return failed('BlockhashNotFound');
        const after = execute(blockAt('confirmed').accounts, transaction);
        if (!after.landed) return failed(after.error);
        const { error, unitsConsumed } = after;
        if (error !== null) return { ...failed(error), unitsConsumed };
        const accounts = addresses.map((address) => chainAccountAt(after.accounts, address));
        return { error: null, logs: [], unitsConsumed, accounts };
      }),

    accounts: (addresses, commitment) =>
      answering('accounts', () => {
        if (addresses.length > 100) throw new RangeError('At most 100 accounts at once.');
        return addresses.map((address) => chainAccountAt(blockAt(commitment).accounts, address));
      }),

    tokenAccountsOf: (owner, commitment) =>
      answering('tokenAccountsOf', () => {
        const { accounts } = blockAt(commitment);
        return [...accounts.keys()]
          .flatMap((address) => tokenAccountAt(accounts, address) ?? [])
          .filter((account) => account.owner === owner);
      }),

    rentMinimum: (bytes) => answering('rentMinimum', () => rentOf(bytes)),

    recentPriorityFee: () => answering('recentPriorityFee', () => priorityFee),

    transactionsOf: (address, range) =>
      answering('transactionsOf', () => {
        const kept = upTo('confirmed').filter(({ slot }) => slot >= keptFrom);
        return transactionsIn(kept, address, range);
      }),

    transaction: (signature) =>
      answering('transaction', () => {
        const found = findLanded(signature);
        if (!found || found.block.slot < keptFrom) return undefined;
        return commitmentOf(found.block) === 'finalized' ? found.executed : undefined;
      }),

    absence: (signature, slot) =>
      answering('absence', () => {
        if (slot < keptFrom) return 'notKept';
        const found = findLanded(signature);
        if (found) return found.block.slot < keptFrom ? 'notKept' : 'notFinal';
        return blockAt('finalized').slot < slot ? 'notFinal' : 'unknown';
      }),

    history: () =>
      answering('history', () => ({ from: keptFrom, fromAt: null, to: blockAt('finalized').slot })),

    close: async () => undefined,

    advance: (count = 1) => {
      for (let index = 0; index < count; index++) makeBlock();
    },
    finalize: () => {
      for (let index = 0; index <= depths.finalized; index++) makeBlock();
    },
    advancePast: (blockHeight) => {
      while (blockAt('finalized').height <= blockHeight) makeBlock();
    },
    fork: blocks.fork,

    ...gifts(blocks),
    setPriorityFee: (microLamports) => {
      priorityFee = microLamports;
    },

    dropNext: (sends = 1) => {
      sendsToDrop += sends;
    },
    delayNext: (count) => {
      delay = BigInt(count);
    },
    failNext,
    prune: (statuses = 'kept') => {
      keptFrom = blockAt('finalized').slot + 1n;
      if (statuses === 'forgotten') statusesFrom = keptFrom;
    },
    hide: (signature) => hidden.add(signature),
    reveal: (signature) => hidden.delete(signature),

    sent,
    blockHeight: (commitment) => blockAt(commitment).height,
  };
}

function transactionsIn(
  blocks: readonly Block[],
  address: Address,
  { limit, before, until }: Parameters<Chain['transactionsOf']>[1],
): readonly KnownTransaction[] {
  const all = blocks
    .flatMap(({ landed }) => landed)
    .filter(({ transaction }) => transaction.accounts.includes(address))
    .map(({ executed, memo }): KnownTransaction => {
      const { signature, slot, error } = executed;
      return { signature, slot, error, memo };
    })
    .reverse();
  const indexOf = (signature: Signature) => all.findIndex((one) => one.signature === signature);
  // An unknown signature has nothing before it, and ends nothing.
  const from = before === undefined ? 0 : indexOf(before) < 0 ? all.length : indexOf(before) + 1;
  const to = until === undefined || indexOf(until) < 0 ? all.length : indexOf(until);
  return all.slice(from, to).slice(0, limit);
}

function isSigned({ signers, signatures, message }: ReadTransaction): boolean {
  if (signatures.length !== signers.length) return false;
  return signers.every((signer, index) => {
    const bytes = decodeBase58Address(signer);
    assert(bytes);
    const x = Buffer.from(bytes).toString('base64url');
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
    return verify(null, message, key, signatures[index] ?? new Uint8Array());
  });
}
