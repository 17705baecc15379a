/**
 * Verifies the log in one pass, in bounded memory: a page of events, a thousand held back after a mismatch, a
 * few streams being folded, and a bounded cache. The checks share the pass, so that their findings can be
 * read side by side.
 */
import { setImmediate } from 'node:timers/promises';
import type { EventStore, KeptSnapshots, OurLog, Position, RecordedEvent } from '@coffer/event-store';
import type { Block, ChainHead } from './blocks.ts';
import { entryHash, GENESIS, type Ordinal } from './chain.ts';
import { createChainCheck } from './chainCheck.ts';
import type { FurthestTimes } from './entryMatch.ts';
import { createFaultList, type Fault, type FaultList } from './faults.ts';
import { createFoldCheck } from './foldCheck.ts';
import type { LogCheck } from './logCheck.ts';
import { createPositionCheck, createRevisionCheck, type KnownRevisions, onlyStreams } from './streamCheck.ts';
import type { StreamRules } from './streamRules.ts';

export type VerifiedLog = Pick<
  EventStore,
  'readAll' | 'readStream' | 'heads' | 'head' | 'comparePositions' | 'parsePosition' | 'distance'
> & {
  /** Includes what others have written, which is not verified but takes up positions between ours. */
  readonly whole: Pick<OurLog['whole'], 'readAll'>;
};

/** The stored chain. */
export interface KeptChain {
  /** Its end; undefined while it is empty. */
  readonly head: () => Promise<ChainHead | undefined>;
  /** All blocks up to an ordinal, or only those after another one. */
  readonly blocks: (upTo: Ordinal, behind?: Ordinal) => AsyncIterable<Block>;
  /** Up to this ordinal the log was carried from another store, and only the chain has its recorded times. */
  readonly carriedUntil: () => Promise<Ordinal>;
  /** Why the end of the chain is not where its consumer left it; undefined if it is. */
  readonly brokenEnd: () => Promise<string | undefined>;
}

export interface Verification {
  readonly store: VerifiedLog;
  readonly chain: KeptChain;
  /** Rules of the contexts whose events are in the log. */
  readonly rules: readonly StreamRules[];
  /** Compared with what their streams fold to, if this node can identify its own. */
  readonly snapshots?: KeptSnapshots | undefined;
  /** Limits the checks of revisions, readability and rules; the chain is always compared as a whole. */
  readonly isWanted?: (stream: string) => boolean;
  /** What the states of the streams being folded may take. Default 64 MiB. */
  readonly statesBytes?: number | undefined;
  readonly signal: AbortSignal;
}

export interface VerificationProgress {
  /** Events read. */
  readonly done: number;
  /** Null if the store cannot count. */
  readonly of: number | null;
}

export interface VerificationReport {
  readonly head: ChainHead | undefined;
  readonly events: number;
  /** After the end of the chain: nothing is known about them yet. */
  readonly unchained: number;
  /** How many events were carried from another store: only the chain has their recorded times. */
  readonly carried: number;
  readonly furthestTimes: FurthestTimes | undefined;
  readonly faultCount: number;
  /** The first faults, in the order of the log. */
  readonly faults: readonly Fault[];
}

/** Verifies everything. Reports its progress after each page. */
export async function* verifyLog(
  verification: Verification,
): AsyncGenerator<VerificationProgress, VerificationReport> {
  return yield* verifyWith(verification, (faults, end) =>
    checksOfLog(verification, faults, { after: undefined, end }),
  );
}

/** What is verified of the log by itself; its chain is compared separately. */
function checksOfLog(
  {
    store,
    rules,
    snapshots,
    isWanted = () => true,
    statesBytes,
    rest,
  }: Pick<Verification, 'store' | 'rules' | 'snapshots' | 'isWanted' | 'statesBytes'> & Pick<Stretch, 'rest'>,
  faults: FaultList,
  {
    after,
    end,
    revisions,
  }: {
    readonly after: Position | undefined;
    readonly end: Position | undefined;
    readonly revisions?: KnownRevisions | undefined;
  },
): readonly LogCheck[] {
  return [
    createPositionCheck(store, faults, after),
    onlyStreams(createRevisionCheck(store, faults, revisions), isWanted),
    onlyStreams(createFoldCheck({ store, rules, snapshots, faults, end, statesBytes, rest }), isWanted),
  ];
}

/** A part of the chain, after what was verified before. */
export interface Stretch {
  readonly after: ChainHead | undefined;
  readonly upTo: ChainHead;
  /** Streams that begin in the stretch are folded up to here. */
  readonly foldedUpTo: Position;
  /** From the previous stretch, if it was verified just now: the store need not be asked for them. */
  readonly revisions?: KnownRevisions;
  /** At each page of a stream that goes on behind the stretch. */
  readonly rest?: (() => Promise<void>) | undefined;
}

/**
 * All stretches in turn amount to one `verifyLog`, except that an event moved out of its stretch is missing
 * in one and inserted in the other.
 */
export async function* verifyStretch(
  { store, chain, rules, snapshots, signal }: Omit<Verification, 'isWanted'>,
  { after, upTo, foldedUpTo, revisions, rest }: Stretch,
): AsyncGenerator<VerificationProgress, VerificationReport> {
  const faults = createFaultList();
  const checks = checksOfLog({ store, rules, snapshots, rest }, faults, {
    after: after?.place.position,
    end: foldedUpTo,
    revisions,
  });
  return yield* pass(
    { store, chain, signal },
    { after, head: upTo, end: upTo.place.position, faults, checks },
  );
}

export interface NotedHead {
  readonly ordinal: Ordinal;
  readonly hash: Buffer;
}

/** Whether the log, hashed from its first event, still passes through a head that was noted. */
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

/** Events processed before others get a turn: an event costs some microseconds. */
const TURN_EVENTS = 250;

async function* verifyWith(
  { store, chain, signal }: Omit<Verification, 'rules' | 'snapshots' | 'isWanted'>,
  checksWith: (faults: FaultList, end: Position | undefined) => readonly LogCheck[],
): AsyncGenerator<VerificationProgress, VerificationReport> {
  const faults = createFaultList();
  const brokenEnd = await chain.brokenEnd();
  // In this order: the log then holds at least what is chained.
  const head = await chain.head();
  const end = (await store.head())?.position;
  if (brokenEnd) faults.add(brokenEndFault(head, brokenEnd));
  return yield* pass(
    { store, chain, signal },
    { after: undefined, head, end, faults, checks: checksWith(faults, end) },
  );
}

export const brokenEndFault = (head: ChainHead | undefined, reason: string): Fault => ({
  kind: 'chain_broken',
  ordinal: (head?.ordinal ?? 0) + 1,
  stream: null,
  revision: null,
  id: null,
  reason,
});

async function* pass(
  { store, chain, signal }: Omit<Verification, 'rules' | 'isWanted'>,
  {
    after,
    head,
    end,
    faults,
    checks: others,
  }: {
    readonly after: ChainHead | undefined;
    readonly head: ChainHead | undefined;
    readonly end: Position | undefined;
    readonly faults: FaultList;
    readonly checks: readonly LogCheck[];
  },
): AsyncGenerator<VerificationProgress, VerificationReport> {
  const first = after?.ordinal ?? 0;
  const from = after?.place.position;
  const blocks = chain.blocks(head?.ordinal ?? 0, first);
  const carriedUntil = await chain.carriedUntil();
  const chainCheck = createChainCheck({ after, head, blocks, carriedUntil, store, faults });
  const checks = [...others, chainCheck];
  const total = end === undefined ? 0 : (store.distance(from, end) ?? null);

  let events = 0;
  yield { done: events, of: total };
  for await (const page of store.readAll(from === undefined ? {} : { from })) {
    const isWithin = ({ position }: RecordedEvent) =>
      end !== undefined && store.comparePositions(position, end) <= 0;
    const last = page.at(-1);
    const numbered = (last && isWithin(last) ? page : page.filter(isWithin)).map((event, index) => ({
      event,
      ordinal: first + events + index + 1,
    }));
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
