/** The blocks of a chain in memory: what waits, what has landed, and what was undone. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import type { Commitment, ExecutedTransaction, Signature } from '../port.ts';
import { MEMO_PROGRAM } from '../programs/ids.ts';
import type { ReadTransaction } from '../web3/readTransaction.ts';
import { type Accounts, heldAt, tokenAccountAt } from './accounts.ts';
import { execute } from './execute.ts';

/** How many blocks after its own a blockhash is valid. */
export const BLOCKHASH_LIFE_BLOCKS = 150n;
const FIRST_HEIGHT = 1_000n;
/** Slots without a block before the first one, because a slot is not a height. */
const SKIPPED_SLOTS = 50n;

interface Landed {
  readonly transaction: ReadTransaction;
  readonly executed: ExecutedTransaction;
  readonly memo: string | null;
}

export interface Block {
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

export function createBlocks(depths: Readonly<Record<Commitment, number>>) {
  const waiting = new Map<Signature, Waiting>();
  let made = 0;
  let finalizedHeight = FIRST_HEIGHT;
  let blocks: Block[] = [];
  const uniqueName = (of: string) => encodeBase58(createHash('sha256').update(`${of} ${made++}`).digest());
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
    const hash = uniqueName('block');
    blocks.push({ height, slot, hash, landed, accounts });
    const final = blocks.at(-1 - depths.finalized)?.height ?? FIRST_HEIGHT;
    // After a fork the same depth is a lower block; what was final stays final.
    if (final > finalizedHeight) finalizedHeight = final;
  }

  const at = (commitment: Commitment): Block => {
    const final = blocks.find(({ height }) => height === finalizedHeight);
    const deep = blocks.at(-1 - depths[commitment]);
    const block = commitment !== 'finalized' && deep && deep.height > finalizedHeight ? deep : final;
    assert(block);
    return block;
  };
  const upTo = (commitment: Commitment) => blocks.filter(({ height }) => height <= at(commitment).height);
  const findLanded = (signature: Signature) =>
    blocks
      .flatMap((block) => block.landed.map((one) => ({ block, ...one })))
      .find(({ executed }) => executed.signature === signature);
  const commitmentOf = ({ height }: Block): Commitment =>
    (['finalized', 'confirmed'] as const).find((one) => height <= at(one).height) ?? 'processed';
  const everywhere = (change: (accounts: Accounts) => Accounts) => {
    blocks = blocks.map((block) => ({ ...block, accounts: change(block.accounts) }));
  };
  const fork = (count: number, fate: 'landsAgain' | 'isLost') => {
    const undone = blocks.slice(blocks.length - count);
    assert(
      undone.every(({ height }) => height > finalizedHeight),
      'What is final stays.',
    );
    blocks = blocks.slice(0, blocks.length - count);
    if (fate === 'isLost') return;
    for (const { transaction, executed } of undone.flatMap(({ landed }) => landed))
      waiting.set(executed.signature, { transaction, notBefore: 0n });
  };
  const newestHeight = () => blocks.at(-1)?.height ?? 0n;

  return {
    waiting,
    uniqueName,
    makeBlock,
    at,
    upTo,
    findLanded,
    commitmentOf,
    everywhere,
    fork,
    newestHeight,
  };
}

export const isRecent = (blockhash: string, blocks: readonly Block[]): boolean => {
  const newest = blocks.at(-1)?.height ?? 0n;
  return blocks.some(({ hash, height }) => hash === blockhash && newest - height < BLOCKHASH_LIFE_BLOCKS);
};

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
