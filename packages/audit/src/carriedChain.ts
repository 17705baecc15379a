/**
 * The chain of a log that is carried into another store. Ordinals, hashes and recorded times stay as they
 * were; only positions are those of the new store. Each event is checked against the chain before it is
 * written, so that no other log ends up under this chain.
 *
 * Nothing is changed before `replace`; until then the new blocks are in a table private to the connection.
 */
import { forgetPlace, putPlace } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { Position, StreamEvent } from '@coffer/event-store';
import { blockOf, type ChainHead, headAfter, MAX_BLOCK_EVENTS } from './blocks.ts';
import {
  createCarriedBlocks,
  insertCarriedBlock,
  readBlocks,
  readChainHead,
  replaceBlocks,
} from './blocksTable.ts';
import { entryHash, GENESIS } from './chain.ts';
import { CHAIN_CONSUMER } from './chainProjection.ts';
import type { ChainEntry } from './entryColumns.ts';
import { reject } from './errors.ts';

export interface CarriedChain {
  /**
   * Takes the next event of the log, before it is written. `recordedAt` is used if the chain has no time for
   * it. Throws `audit/other_than_chained`.
   */
  readonly take: (event: StreamEvent & { readonly recordedAt: Date }) => Promise<void>;
  /** Everything taken so far is in the log, the last event at this position. */
  readonly stands: (position: Position) => Promise<void>;
  /** Everything has been taken. Throws `audit/chained_events_missing`. */
  readonly finish: () => Promise<ChainHead | undefined>;
  /**
   * In a transaction of the connection: makes the carried blocks the chain; its consumer continues after
   * them.
   */
  readonly replace: () => Promise<void>;
}

/** Everything runs on one connection. */
export async function carryChain(connection: Queryable): Promise<CarriedChain> {
  await createCarriedBlocks(connection);
  const keptHead = await readChainHead(connection);
  const kept = keptEntries(connection, keptHead);

  let hash = GENESIS;
  let ordinal = 0;
  /** Taken, but not known to be in the log yet. */
  let taken: ChainEntry[] = [];
  /** In the log, but not in a block yet. */
  let standing: ChainEntry[] = [];
  let reached: Position | undefined;
  let head: ChainHead | undefined;

  async function closeBlock(): Promise<void> {
    if (reached === undefined || standing.length === 0) return;
    const block = blockOf(head, standing, reached);
    await insertCarriedBlock(connection, block);
    head = headAfter(block);
    standing = [];
  }

  return {
    async take(event) {
      ordinal += 1;
      hash = entryHash(hash, ordinal, event);
      const { id, stream, revision, recordedAt } = event;
      const { done, value: chained } = await kept.next();
      if (!done && !chained.hash.equals(hash)) {
        throw reject('audit/other_than_chained', {
          ordinal,
          toImport: { stream, revision, id },
          chained: { stream: chained.stream, revision: chained.revision, id: chained.id },
        });
      }
      const recordedAtMs = done ? recordedAt.getTime() : chained.recordedAtMs;
      taken.push({ id, stream, revision, recordedAtMs, hash });
    },
    async stands(position) {
      if (standing.length + taken.length > MAX_BLOCK_EVENTS) await closeBlock();
      standing.push(...taken);
      taken = [];
      reached = position;
    },
    async finish() {
      const { done } = await kept.next();
      if (!done) {
        throw reject('audit/chained_events_missing', { imported: ordinal, chained: keptHead?.ordinal });
      }
      await closeBlock();
      return head;
    },
    async replace() {
      await replaceBlocks(connection);
      if (head) await putPlace(connection, CHAIN_CONSUMER, { ...head.place, ordinal: head.ordinal });
      else await forgetPlace(connection, CHAIN_CONSUMER);
    },
  };
}

/** Throws `audit/other_than_chained` if the chain itself is broken: nothing can be checked against it. */
async function* keptEntries(db: Queryable, head: ChainHead | undefined): AsyncGenerator<ChainEntry> {
  let ordinal = 0;
  for await (const { firstOrdinal, lastOrdinal, contradiction, entries } of readBlocks(
    db,
    head?.ordinal ?? 0,
  )) {
    const broken = firstOrdinal === ordinal + 1 ? contradiction : 'a block is missing';
    if (broken) throw reject('audit/other_than_chained', { ordinal: ordinal + 1, reason: broken });
    yield* entries;
    ordinal = lastOrdinal;
  }
}
