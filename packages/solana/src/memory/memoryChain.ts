/**
 * The chain port in memory, for fast specs. Nothing happens by itself: blocks are made by hand, each send, loss, delay
 * and fork is arranged, and the same steps give the same bytes every time.
 */
import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import {
  type Address,
  type Chain,
  ChainUnreachableError,
  type Commitment,
  type ExecutedTransaction,
  type KnownTransaction,
  type Signature,
} from '../port.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import type { Mint } from '../programs/mint.ts';
import { associatedTokenAddress } from '../web3/addresses.ts';
import { signatureOf, type TransferMint } from '../web3/buildTransfer.ts';
import { type ReadTransaction, readTransaction } from '../web3/readTransaction.ts';
import {
  type Accounts,
  chainAccountAt,
  type HeldAccount,
  heldAt,
  mintData,
  rentOf,
  tokenAccountAt,
  tokenAccountData,
  withAccount,
  withLamports,
} from './accounts.ts';
import { execute } from './execute.ts';

export interface MemoryChain extends Chain {
  /** Makes a number of blocks, one by default. What was sent lands in the first block that it can. */
  readonly advance: (blocks?: number) => void;
  /** Everything sent so far has landed, if it ever will, and is final. */
  readonly finalize: () => void;
  /** The finalized height is above this one. */
  readonly advancePast: (blockHeight: bigint) => void;
  /** Undoes the newest blocks, which must not be final. Their transactions land again, or are lost. */
  readonly fork: (blocks: number, fate: 'landsAgain' | 'isLost') => void;

  /** From nowhere, and final at once. The same holds for mints and tokens. */
  readonly fund: (address: Address, lamports: bigint) => void;
  readonly createMint: (
    mint?: Partial<Pick<Mint, 'program' | 'decimals' | 'freezeAuthority'>>,
  ) => TransferMint;
  /** Into the associated account, unless another is given. */
  readonly giveTokens: (mint: TransferMint, owner: Address, amount: bigint, at?: Address) => Address;
  readonly setFrozen: (tokenAccount: Address, isFrozen: boolean) => void;
  /** Replaces what is there. */
  readonly putAccount: (address: Address, account: HeldAccount) => void;
  /** With everything it holds. */
  readonly closeAccount: (address: Address) => void;
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

export type FallibleMethod = Exclude<keyof Chain, 'close'>;

export interface MemoryChainOptions {
  /** How many blocks the other commitments are behind the newest one. */
  readonly confirmedDepth?: number;
  readonly finalizedDepth?: number;
}

/** How many blocks after its own a blockhash is valid. */
const BLOCKHASH_LIFE_BLOCKS = 150n;
const FIRST_HEIGHT = 1_000n;
/** Slots without a block before the first one, because a slot is not a height. */
const SKIPPED_SLOTS = 50n;

interface Landed {
  readonly transaction: ReadTransaction;
  readonly executed: ExecutedTransaction;
  readonly memo: string | null;
}

interface Block {
  readonly height: bigint;
  readonly slot: bigint;
  readonly hash: string;
  readonly landed: readonly Landed[];
  readonly accounts: Accounts;
}

interface Waiting {
  readonly transaction: ReadTransaction;
  readonly notBefore: bigint;
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
  const failures: { method: FallibleMethod; when: 'before' | 'after' }[] = [];
  const waiting = new Map<Signature, Waiting>();
  let sendsToDrop = 0;
  let delay = 0n;
  let priorityFee = 0n;
  let made = 0;
  let finalizedHeight = FIRST_HEIGHT;
  let blocks: Block[] = [];
  for (let count = 0; count <= depths.finalized; count++) makeBlock();

  function makeBlock(): void {
    const parent = blocks.at(-1);
    const height = parent ? parent.height + 1n : FIRST_HEIGHT;
    const slot = parent ? parent.slot + 1n : FIRST_HEIGHT + SKIPPED_SLOTS;
    let accounts = parent?.accounts ?? new Map();
    const landed: Landed[] = [];
    for (const [signature, { transaction, notBefore }] of waiting) {
      if (notBefore > height) continue;
      waiting.delete(signature);
      if (findLanded(signature) || !isRecent(transaction.blockhash, blocks)) continue;
      const after = execute(accounts, transaction);
      if (!after.landed) continue;
      landed.push(noted(signature, slot, transaction, accounts, after));
      accounts = after.accounts;
    }
    const hash = encodeBase58(createHash('sha256').update(`block ${made++}`).digest());
    blocks.push({ height, slot, hash, landed, accounts });
    const final = blocks.at(-1 - depths.finalized)?.height ?? FIRST_HEIGHT;
    // After a fork the same depth is a lower block; what was final stays final.
    if (final > finalizedHeight) finalizedHeight = final;
  }

  const blockAt = (commitment: Commitment): Block => {
    const final = blocks.find(({ height }) => height === finalizedHeight);
    const deep = blocks.at(-1 - depths[commitment]);
    const block = commitment !== 'finalized' && deep && deep.height > finalizedHeight ? deep : final;
    assert(block);
    return block;
  };
  const upTo = (commitment: Commitment) =>
    blocks.filter(({ height }) => height <= blockAt(commitment).height);
  const findLanded = (signature: Signature) =>
    blocks
      .flatMap((block) => block.landed.map((one) => ({ block, ...one })))
      .find(({ executed }) => executed.signature === signature);
  const commitmentOf = ({ height }: Block): Commitment =>
    (['finalized', 'confirmed'] as const).find((one) => height <= blockAt(one).height) ?? 'processed';
  const everywhere = (change: (accounts: Accounts) => Accounts) => {
    blocks = blocks.map((block) => ({ ...block, accounts: change(block.accounts) }));
  };

  /** Runs the method, failing as arranged. */
  async function answering<T>(method: FallibleMethod, act: () => T): Promise<T> {
    const index = failures.findIndex((failure) => failure.method === method);
    const [failure] = index < 0 ? [] : failures.splice(index, 1);
    if (failure?.when === 'before') throw new ChainUnreachableError(`${method} fails on purpose.`);
    const answer = act();
    if (failure) throw new ChainUnreachableError(`${method} fails on purpose, after it was done.`);
    return answer;
  }

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
        const notBefore = (blocks.at(-1)?.height ?? 0n) + 1n + delay;
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

    transactionsOf: (address, { limit, before, until }) =>
      answering('transactionsOf', () => {
        const all = upTo('confirmed')
          .filter(({ slot }) => slot >= keptFrom)
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
    fork: (count, fate) => {
      const undone = blocks.slice(blocks.length - count);
      assert(
        undone.every(({ height }) => height > finalizedHeight),
        'What is final stays.',
      );
      blocks = blocks.slice(0, blocks.length - count);
      if (fate === 'isLost') return;
      for (const { transaction, executed } of undone.flatMap(({ landed }) => landed))
        waiting.set(executed.signature, { transaction, notBefore: 0n });
    },

    fund: (address, lamports) => everywhere((accounts) => withLamports(accounts, address, lamports)),
    createMint: ({ program = TOKEN_PROGRAM, decimals = 6, freezeAuthority = null } = {}) => {
      const address = encodeBase58(createHash('sha256').update(`mint ${made++}`).digest());
      const data = mintData({ decimals, freezeAuthority });
      everywhere((accounts) =>
        withAccount(accounts, address, { owner: program, lamports: rentOf(data.length), data }),
      );
      return { address, program, decimals };
    },
    giveTokens: (
      mint,
      owner,
      amount,
      address = associatedTokenAddress(owner, mint.address, mint.program),
    ) => {
      everywhere((accounts) => {
        const held = tokenAccountAt(accounts, address);
        const data = tokenAccountData({
          program: mint.program,
          mint: mint.address,
          owner,
          amount: (held?.amount ?? 0n) + amount,
          isFrozen: held?.isFrozen ?? false,
        });
        return withAccount(accounts, address, { owner: mint.program, lamports: rentOf(data.length), data });
      });
      return address;
    },
    setFrozen: (address, isFrozen) =>
      everywhere((accounts) => {
        const held = tokenAccountAt(accounts, address);
        if (!held) return accounts;
        return withAccount(accounts, address, {
          ...heldAt(accounts, address),
          data: tokenAccountData({ ...held, isFrozen }),
        });
      }),
    putAccount: (address, account) => everywhere((accounts) => withAccount(accounts, address, account)),
    closeAccount: (address) =>
      everywhere((accounts) => withLamports(accounts, address, -heldAt(accounts, address).lamports)),
    setPriorityFee: (microLamports) => {
      priorityFee = microLamports;
    },

    dropNext: (sends = 1) => {
      sendsToDrop += sends;
    },
    delayNext: (count) => {
      delay = BigInt(count);
    },
    failNext: (method, when = 'before', calls = 1) => {
      for (let index = 0; index < calls; index++) failures.push({ method, when });
    },
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

const isRecent = (blockhash: string, blocks: readonly Block[]): boolean => {
  const newest = blocks.at(-1)?.height ?? 0n;
  return blocks.some(({ hash, height }) => hash === blockhash && newest - height < BLOCKHASH_LIFE_BLOCKS);
};

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

function noted(
  signature: Signature,
  slot: bigint,
  transaction: ReadTransaction,
  before: Accounts,
  after: Extract<ReturnType<typeof execute>, { landed: true }>,
): Landed {
  const memos = transaction.instructions
    .filter(({ programId }) => programId === MEMO_PROGRAM)
    .map(({ data }) => `[${data.length}] ${Buffer.from(data).toString('utf8')}`);
  const lamports = transaction.accounts.map((address) => ({
    address,
    before: heldAt(before, address).lamports,
    after: heldAt(after.accounts, address).lamports,
  }));
  const tokens = transaction.accounts.flatMap((address) => {
    const [was, is] = [tokenAccountAt(before, address), tokenAccountAt(after.accounts, address)];
    const held = is ?? was;
    if (!held) return [];
    return {
      account: address,
      owner: held.owner,
      mint: held.mint,
      before: was?.amount ?? 0n,
      after: is?.amount ?? 0n,
    };
  });
  return {
    transaction,
    memo: memos.length > 0 ? memos.join('; ') : null,
    executed: {
      signature,
      slot,
      error: after.error,
      signers: transaction.signers,
      feeLamports: after.feeLamports,
      lamports,
      tokens,
    },
  };
}
