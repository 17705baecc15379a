/**
 * Verifies the log in one pass, in bounded memory: a page of events, a thousand held back after a mismatch, a
 * few streams being folded, and a cache with a limit. Checks share the pass, so that a finding of one can be
 * read beside those of others.
 */
import { setImmediate } from 'node:timers/promises';
import type { EventStore, KeptSnapshots, OurLog, Position } from '@coffer/event-store';
import type { Block, ChainHead } from './blocks.ts';
import { entryHash, GENESIS, type Ordinal } from './chain.ts';
import { createChainCheck, type FurthestTimes } from './chainCheck.ts';
import { createFaultList, type Fault, type FaultList } from './faults.ts';
import type { LogCheck } from './logCheck.ts';
import { createFoldCheck, createPositionCheck, createRevisionCheck, onlyStreams } from './streamCheck.ts';
import type { StreamRules } from './streamRules.ts';

export type VerifiedLog = Pick<
  EventStore,
  'readAll' | 'readStream' | 'head' | 'comparePositions' | 'distance'
> & {
  /** With what others have written, which is not verified but takes places between ours. */
  readonly whole: Pick<OurLog['whole'], 'readAll'>;
};

/** The chain as it is kept. */
export interface KeptChain {
  /** Its end; undefined while it is empty. */
  readonly head: () => Promise<ChainHead | undefined>;
  readonly blocks: (upTo: Ordinal) => AsyncIterable<Block>;
  /** Up to this ordinal the log was carried from another store, whose recorded times stand here alone. */
  readonly carriedUntil: () => Promise<Ordinal>;
  /** Why the end of the chain is not where its consumer has left it; undefined where it is. */
  readonly brokenEnd: () => Promise<string | undefined>;
}

export interface Verification {
  readonly store: VerifiedLog;
  readonly chain: KeptChain;
  /** Of the contexts whose events are in the log. */
  readonly rules: readonly StreamRules[];
  /** Compared with what their streams fold to, where this node can tell its own. */
  readonly snapshots?: KeptSnapshots | undefined;
  /** What revisions, readability and rules are looked at; the chain is always compared as a whole. */
  readonly isWanted?: (stream: string) => boolean;
  readonly signal: AbortSignal;
}

export interface VerificationProgress {
  /** Events read. */
  readonly done: number;
  /** Null where the store cannot count. */
  readonly of: number | null;
}

export interface VerificationReport {
  readonly head: ChainHead | undefined;
  readonly events: number;
  /** Behind the end of the chain: nothing is known about them yet. */
  readonly unchained: number;
  /** So many events were carried from another store: their recorded times stand in the chain alone. */
  readonly carried: number;
  readonly furthestTimes: FurthestTimes | undefined;
  readonly faultCount: number;
  /** The first of them, in the order of the log. */
  readonly faults: readonly Fault[];
}

/** Everything there is to verify. Tells after each page how far it is. */
export async function* verifyLog(
  verification: Verification,
): AsyncGenerator<VerificationProgress, VerificationReport> {
  const { store, rules, snapshots, isWanted = () => true } = verification;
  return yield* verifyWith(verification, (faults, end) => [
    createPositionCheck(store, faults),
    onlyStreams(createRevisionCheck(store, faults), isWanted),
    onlyStreams(createFoldCheck({ store, rules, snapshots, faults, end }), isWanted),
  ]);
}

export interface NotedHead {
  readonly ordinal: Ordinal;
  readonly hash: Buffer;
}

/** Whether the log, hashed from its first event, still comes through a head that was noted. */
export async function* verifyExtension(
  verification: Omit<Verification, 'rules' | 'snapshots' | 'isWanted'>,
  noted: NotedHead,
): AsyncGenerator<VerificationProgress, VerificationReport & { readonly extends: boolean }> {
  let hash = GENESIS;
  let isExtended = false;
  const rehash: LogCheck = {
    take(event, ordinal) {
      hash = entryHash(hash, ordinal, event);
      if (ordinal === noted.ordinal) isExtended = hash.equals(noted.hash);
      return undefined;
    },
    end: () => undefined,
  };
  const report = yield* verifyWith(verification, () => [rehash]);
  return { ...report, extends: isExtended };
}

/** Events between two moments at which others may have their turn: an event costs some tens of microseconds. */
const TURN_EVENTS = 100;

async function* verifyWith(
  { store, chain, signal }: Omit<Verification, 'rules' | 'snapshots' | 'isWanted'>,
  checksWith: (faults: FaultList, end: Position | undefined) => readonly LogCheck[],
): AsyncGenerator<VerificationProgress, VerificationReport> {
  const faults = createFaultList();
  const brokenEnd = await chain.brokenEnd();
  // In this order: the log then holds at least what is chained.
  const head = await chain.head();
  const end = await store.head();
  const blocks = chain.blocks(head?.ordinal ?? 0);
  const carriedUntil = await chain.carriedUntil();
  const chainCheck = createChainCheck({ head, blocks, carriedUntil, store, faults });
  const checks = [...checksWith(faults, end?.position), chainCheck];
  const total = end ? (store.distance(undefined, end.position) ?? null) : 0;
  if (brokenEnd) {
    const ordinal = (head?.ordinal ?? 0) + 1;
    faults.add({ kind: 'chain_broken', ordinal, stream: null, revision: null, id: null, reason: brokenEnd });
  }

  let events = 0;
  yield { done: events, of: total };
  for await (const page of store.readAll()) {
    const numbered = page
      .filter(({ position }) => end && store.comparePositions(position, end.position) <= 0)
      .map((event, index) => ({ event, ordinal: events + index + 1 }));
    for (const check of checks) await check.prepare?.(numbered);
    for (const { event, ordinal } of numbered) {
      for (const check of checks) {
        const waited = check.take(event, ordinal);
        if (waited) await waited;
      }
      if (ordinal % TURN_EVENTS === 0) await setImmediate();
    }
    events += numbered.length;
    signal.throwIfAborted();
    yield { done: events, of: total };
    if (numbered.length < page.length) break;
  }
  for (const check of checks) await check.end();
  return {
    head,
    events,
    unchained: chainCheck.unchained(),
    carried: carriedUntil,
    furthestTimes: chainCheck.furthestTimes(),
    faultCount: faults.count(),
    faults: faults.listed(),
  };
}
