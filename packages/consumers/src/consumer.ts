/**
 * One runner for everything that reads the log. Any number of processes may start the same consumer: the holder of the
 * lease reads, the others stand by, and a runner that has lost the lease cannot write.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from '@coffer/database';
import { type EventStore, LogRewrittenError } from '@coffer/event-store';
import { messageOf } from '@coffer/kernel';
import { type Checkpoint, type ConsumerKey, readCheckpoint, saveCheckpoint } from './consumersTable.ts';
import { type ConsumerStop, LostLeaseError, PoisonEventError } from './errors.ts';
import { type Lease, takeLease } from './lease.ts';
import { backOffMs, pause } from './monotonicClock.ts';
import { type ConsumerStatus, createProgress, type Progress } from './progress.ts';
import { readLog } from './readLog.ts';
import { nothingIsSkipped, type SkipLookup } from './skipLookup.ts';
import { recordStop } from './stopsTable.ts';
import { type ConsumerWork, PAGE_SIZE, type RunningWork, type Session } from './work.ts';

export interface ConsumerAlarm extends ConsumerStop {
  readonly consumer: string;
  readonly error: Error;
}

export interface ConsumerOptions extends ConsumerKey {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'subscribeToAll' | 'head' | 'distance' | 'comparePositions'>;
  readonly work: ConsumerWork;
  readonly onAlarm: (alarm: ConsumerAlarm) => void;
  /** Default: no event is. */
  readonly isSkipped?: SkipLookup | undefined;
  /** Called for problems that will be retried: for the log. */
  readonly onTrouble: (trouble: { readonly consumer: string; readonly error: unknown }) => void;
  /** Events per page. Default 2,000. */
  readonly pageSize?: number;
  /** Once live, the least time between pages. Default 100 ms: a page costs a transaction, however small it is. */
  readonly minPageIntervalMs?: number;
  /** Whether events that another consumer has just read will do. Default true; not for evidence of what is stored. */
  readonly takesRecent?: boolean;
  /** How long the lease outlives its last renewal. Default 10,000 ms. */
  readonly leaseMs?: number;
  /** How often a standby runner tries to take the lease. Default 1,000 ms. */
  readonly standbyPollMs?: number;
  /** Pause before the first retry, doubling up to 10 s. Default 200 ms. */
  readonly firstRetryMs?: number;
}

export interface Consumer {
  readonly status: () => ConsumerStatus;
  /** By more than some pages of a reader that keeps up. */
  readonly isBehind: () => boolean;
  /** Finishes what is in flight, saves, releases the lease. */
  readonly stop: () => Promise<void>;
}

const MOST_RETRY_MS = 10_000;

/** How often a stopped consumer checks whether it may skip the event at which it stopped. */
const STOPPED_POLL_MS = 1_000;

/** How often the end of the log is polled, to know the lag. */
const HEAD_POLL_MS = 1_000;

const PAGES_BEHIND = 10;

export function startConsumer(options: ConsumerOptions): Consumer {
  const { name, schema, pool, store } = options;
  const { pageSize = PAGE_SIZE, minPageIntervalMs = 100, leaseMs = 10_000, standbyPollMs = 1_000 } = options;
  const { firstRetryMs = 200, isSkipped = nothingIsSkipped, takesRecent = true } = options;
  const key: ConsumerKey = { schema, name };
  const owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  const progress = createProgress(name, store);
  const stopping = new AbortController();
  const headAtStart = firstAnswer(() => store.head());
  let running: RunningWork | undefined;
  let readSome = false;
  /** The epoch of the last lease. */
  let epoch = '0';
  /** Already told. */
  let lost: LostLeaseError | undefined;

  const tellTrouble = (error: unknown) => options.onTrouble({ consumer: name, error });
  const ended = Promise.all([runUntilStopped(), watchHead(store, progress, tellTrouble, stopping.signal)]);
  return {
    status: () => progress.status(running?.pending()),
    isBehind: () => progress.isBehindBy(PAGES_BEHIND * minPageIntervalMs),
    async stop() {
      stopping.abort();
      await ended;
    },
  };

  async function runUntilStopped(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      readSome = false;
      try {
        await runOnce();
        failures = 0;
      } catch (error) {
        // What was broken off by the stop.
        if (stopping.signal.aborted && options.work.resume) break;
        if (error instanceof LogRewrittenError || error instanceof PoisonEventError) {
          if (!(await stopForGood(error))) return;
          failures = 0;
          continue;
        }
        failures = readSome ? 1 : failures + 1;
        if (error !== lost) troubled(error);
        const waitMs =
          error instanceof LostLeaseError ? standbyPollMs : backOffMs(failures, firstRetryMs, MOST_RETRY_MS);
        await pause(waitMs, stopping.signal);
      }
    }
    progress.stopped(undefined);
  }

  async function runOnce(): Promise<void> {
    const session = new AbortController();
    let failure: unknown;
    const fail = (error: unknown) => {
      failure ??= error;
      session.abort();
    };
    const onLost = () => {
      lost = new LostLeaseError(name);
      fail(lost);
      // What is in flight may take a while to end.
      progress.interrupted();
      troubled(lost);
    };
    const lease = await takeLease({ pool, key, owner, leaseMs, onLost, onTrouble: troubled });
    if (!lease) {
      progress.standingBy(await readCheckpoint(pool, key), await headAtStart());
      return pause(standbyPollMs, stopping.signal);
    }

    const signal = AbortSignal.any([stopping.signal, session.signal]);
    try {
      const place = await resumed(options, lease, signal);
      const work = beginWork({ ...lease, place }, signal, fail);
      running = work;
      progress.reading(place);
      try {
        await readLog({
          store,
          after: place,
          work,
          progress,
          pageSize,
          minPageIntervalMs,
          takesRecent,
          signal,
          endSession: () => session.abort(),
          onPageTaken: () => {
            readSome = true;
          },
        });
      } catch (error) {
        fail(error);
      }
      progress.interrupted();
      await work.end();
      // After a failure the last checkpoint stays where it is, which is always safe.
      if (failure === undefined) await work.saveLast().catch(fail);
    } finally {
      running = undefined;
      await lease.release();
    }
    if (failure !== undefined) throw failure;
  }

  function beginWork(
    lease: Pick<Lease, 'epoch' | 'place'>,
    signal: AbortSignal,
    fail: (error: unknown) => void,
  ): RunningWork {
    const { place } = lease;
    epoch = lease.epoch;
    const save: Session['save'] = (db, from, to) => saveCheckpoint(db, key, lease.epoch, { from, to });
    return options.work.begin({
      pool,
      place,
      leaseMs,
      signal,
      fail,
      save,
      isSkipped: (event) => isSkipped(name, event),
      onTrouble: troubled,
    });
  }

  function troubled(error: unknown): void {
    progress.troubled(messageOf(error));
    tellTrouble(error);
  }

  /** Waits until an operator skips the blamed event: true. False when told to stop. */
  async function stopForGood(error: LogRewrittenError | PoisonEventError): Promise<boolean> {
    const reason = `${error.code}: ${error.message}`;
    progress.stopped(reason);
    const event = error instanceof PoisonEventError ? error.event : undefined;
    // Both classes have only this one code each.
    const stop = { code: error.code as ConsumerStop['code'], reason, event };
    options.onAlarm({ consumer: name, ...stop, error });

    return mayGoOn({
      record: () => recordStop(pool, key, epoch, stop),
      isSkipped: event && (() => isSkipped(name, event)),
      onTrouble: tellTrouble,
      signal: stopping.signal,
    });
  }
}

/** Records a stop for good, then waits until its event is skipped: true. False when told to stop, or if it has none. */
async function mayGoOn({
  record,
  isSkipped,
  onTrouble,
  signal,
}: {
  readonly record: () => Promise<void>;
  readonly isSkipped: (() => Promise<boolean>) | undefined;
  readonly onTrouble: (error: unknown) => void;
  readonly signal: AbortSignal;
}): Promise<boolean> {
  let isRecorded = false;
  const recorded = async () => {
    if (!isRecorded) await record();
    isRecorded = true;
  };
  while (!signal.aborted) {
    // For others to look at: whatever keeps it from being written does not keep the consumer stopped.
    await recorded().catch(onTrouble);
    try {
      if (await isSkipped?.()) return true;
    } catch (error) {
      onTrouble(error);
    }
    if (isRecorded && !isSkipped) return false;
    await pause(STOPPED_POLL_MS, signal);
  }
  return false;
}

/** Where to read on: the checkpoint, or what work that keeps its place elsewhere says; the checkpoint follows it. */
async function resumed(
  { pool, schema, name, work }: ConsumerOptions,
  { place, epoch }: Lease,
  signal: AbortSignal,
): Promise<Checkpoint | undefined> {
  if (!work.resume) return place;
  const kept = await work.resume(signal);
  await saveCheckpoint(pool, { schema, name }, epoch, { from: place, to: kept });
  return kept;
}

/** A stopped consumer falls ever further behind, and its lag must show it: the head is still polled. */
async function watchHead(
  store: Pick<EventStore, 'head'>,
  progress: Progress,
  onTrouble: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      progress.sawHead(await store.head());
    } catch (error) {
      progress.lostSightOfHead();
      onTrouble(error);
    }
    await pause(HEAD_POLL_MS, signal);
  }
}

/** Asks until there is an answer, then gives that answer for ever. */
function firstAnswer<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let answered: { readonly answer: Answer } | undefined;
  return async () => {
    answered ??= { answer: await ask() };
    return answered.answer;
  };
}
