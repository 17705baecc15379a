/**
 * A reconciliation: derives everything that follows from the log, in full or on from what was derived before,
 * and compares it at one place in the log; what cannot be covered is reported, not passed over. Source:
 * architecture, Projections and reconcile.
 *
 * A run reads how far the process of the holds has got (all causes up to there have their effects), then the
 * head of the log, and waits until the read models have reached it. In one snapshot it reads their
 * checkpoint, brings its own fold to that place, and compares. Causes after the process's place are in
 * flight.
 */
import {
  type Checkpoint,
  type HeldProjections,
  PoisonEventError,
  type Reaction,
  readCheckpoint,
} from '@coffer/consumers';
import { type Client, type Queryable, withTransaction } from '@coffer/database';
import { type EventStore, type LogPlace, LogRewrittenError, type RecordedEvent } from '@coffer/event-store';
import { type Clock, parseStreamName } from '@coffer/kernel';
import { compareReadSchemas, liveReadSchema, READ_MODELS_CONSUMER, trialBalances } from '@coffer/read-models';
import { alteredDiscrepancy, isStillAltered, readAltered } from './altered.ts';
import { type ApproachOptions, approach } from './approach.ts';
import { crossChecks } from './crossChecks.ts';
import { type CheckResult, rowCheck } from './discrepancies.ts';
import { causesWithoutEffect, type PendingCause } from './inFlight.ts';
import { reachedBy } from './reached.ts';
import {
  type BooksPlace,
  CoverageIncompleteError,
  type Discrepancy,
  type Mode,
  type Report,
  type SkippedEvent,
} from './report.ts';
import { compareTransactionUuids, sharedTransactionUuids } from './transactionUuids.ts';
import { underLock } from './underLock.ts';
import { holdVerified, VERIFIED_SCHEMA, type VerifiedDependencies } from './verified.ts';

export interface ReconcileDependencies extends VerifiedDependencies {
  readonly store: Pick<EventStore, 'subscribeToAll' | 'comparePositions' | 'readAll' | 'readStream' | 'head'>;
  readonly clock: Clock;
  readonly limits?: Partial<CoverageLimits>;
  /** The process whose acts move funds from one stream to another, by its consumer's name in `records`. */
  readonly process: { readonly name: string; readonly reactions: readonly Reaction[] };
  /** The skips in force, of events of the app and of its scope. Default: none. */
  readonly skipsOf?: (books: BooksPlace) => Promise<readonly StandingSkip[]>;
}

type StandingSkip = Omit<SkippedEvent, 'code' | 'subject' | 'sessions'> & {
  readonly stream: string;
  readonly revision: number;
};

/** Whatever takes longer is reported as a gap. */
interface CoverageLimits {
  /**
   * For the read models to reach the head of the log. They lag by a fraction of a second. Default 10,000 ms.
   */
  readonly readModelsWithinMs: number;
  /** For a decision to reach its account. The process retries every 30 s at most. Default 60,000 ms. */
  readonly inFlightWithinMs: number;
}

export interface RunOptions extends BooksPlace, ApproachOptions {
  readonly mode: Mode;
}

/** Arbitrary constants: the holder of the lock moves the fold. */
const VERIFY_LOCK = 7_263_006;
const SCRUB_LOCK = 7_263_010;

/** What takes two cores for a while leaves none of two to bets. */
const ON_ONE_CORE =
  'set local max_parallel_workers_per_gather = 0; set local max_parallel_maintenance_workers = 0';

const schemaOf = ({ schema = VERIFIED_SCHEMA }: VerifiedDependencies) => schema;
/** One for each fold. */
export const lockOf = (dependencies: VerifiedDependencies) =>
  schemaOf(dependencies) === VERIFIED_SCHEMA ? VERIFY_LOCK : SCRUB_LOCK;

/** Throws `CoverageIncompleteError`, and the signal's reason. */
export async function reconcile(dependencies: ReconcileDependencies, options: RunOptions): Promise<Report> {
  try {
    return await underLock(dependencies.pool, lockOf(dependencies), options.signal, () =>
      run(dependencies, options),
    );
  } catch (error) {
    if (!(error instanceof LogRewrittenError)) throw error;
    throw new CoverageIncompleteError('log_rewritten', error.message, { cause: error });
  }
}

async function run(dependencies: ReconcileDependencies, options: RunOptions): Promise<Report> {
  const { pool, store, process } = dependencies;
  const { signal, pace } = options;
  const headReached = async () => reachedBy(dependencies, await store.head(), signal);
  const { held, from } = await holdOnto(dependencies, options.mode === 'full', await headReached());
  try {
    await approach(held, headReached, options);
    // Only now: what is in flight is looked for from here on.
    const processPlace = await readCheckpoint(pool, { schema: 'records', name: process.name });
    await held.advance(await headReached(), { signal });
    return await withTransaction(pool, async (client) => {
      // One snapshot: rows and their checkpoint do not change, and the fold is brought to the same place.
      await client.query(`set transaction isolation level repeatable read; set local work_mem = '64MB'`);
      if (pace && !(await pace.isAwaited())) await client.query(ON_ONE_CORE);
      const live = await liveReadSchema(client);
      const place = await readCheckpoint(client, { schema: live, name: READ_MODELS_CONSUMER });
      await held.advanceWithin(client, place, { signal });
      if (held.checkpoint()?.eventId !== place?.eventId) {
        throw new LogRewrittenError('The read models were made of another log than the one there is.');
      }
      const altered = (await readAltered(client, schemaOf(dependencies))).filter(isAnAlterationOf(options));
      if (altered.length > 0) {
        return logReport(dependencies, options, from, place?.ordinal ?? 0, altered.map(alteredDiscrepancy));
      }
      const pending = await inFlightAt(dependencies, processPlace, place);
      await compareTransactionUuids(client, schemaOf(dependencies));
      return reportOf(client, dependencies, options, { live, place, from, pending });
    });
  } catch (error) {
    if (!(error instanceof PoisonEventError)) throw error;
    return poisonReport(dependencies, options, error, from);
  }
}

/**
 * Continues from what was verified before, unless that belongs to another log, or to one that was altered
 * then.
 */
async function holdOnto(
  dependencies: ReconcileDependencies,
  anew: boolean,
  target: LogPlace | undefined,
): Promise<{ readonly held: HeldProjections; readonly from: LogPlace | undefined }> {
  const held = await holdVerified(dependencies, { anew });
  const from = held.checkpoint();
  if (
    from &&
    !(
      target &&
      (await stillHolds(dependencies.store, from, target)) &&
      (await isStillAltered({ ...dependencies, db: dependencies.pool }, schemaOf(dependencies)))
    )
  ) {
    return { held: await holdVerified(dependencies, { anew: true }), from: undefined };
  }
  return { held, from };
}

/** Whether the log still has the event that was verified last. */
async function stillHolds(
  store: ReconcileDependencies['store'],
  place: LogPlace,
  target: LogPlace,
): Promise<boolean> {
  if (place.position === target.position) return place.eventId === target.eventId;
  if (store.comparePositions(place.position, target.position) > 0) return false;
  const ended = new AbortController();
  try {
    for await (const _ of store.subscribeToAll({ after: place, signal: ended.signal, pageSize: 1 }))
      return true;
    return true;
  } catch (error) {
    if (error instanceof LogRewrittenError) return false;
    throw error;
  } finally {
    ended.abort();
  }
}

async function inFlightAt(
  { store, process, clock, limits, isSkipped }: ReconcileDependencies,
  processPlace: LogPlace | undefined,
  place: LogPlace | undefined,
): Promise<readonly PendingCause[]> {
  const pending = await causesWithoutEffect(
    process.reactions,
    between(store, processPlace, place),
    (event) => isSkipped?.(process.name, event) ?? Promise.resolve(false),
  );
  const [oldest] = pending;
  const oldestMs = oldest ? clock().getTime() - oldest.recordedAt.getTime() : 0;
  if (oldest && oldestMs > (limits?.inFlightWithinMs ?? 60_000)) {
    throw new CoverageIncompleteError(
      'process_behind',
      `${oldest.subject} waits for ${oldest.reaction} since ${oldest.recordedAt.toISOString()}. Is the process-manager running?`,
    );
  }
  return pending;
}

async function* between(
  store: Pick<EventStore, 'readAll' | 'comparePositions'>,
  after: LogPlace | undefined,
  to: LogPlace | undefined,
): AsyncGenerator<readonly RecordedEvent[]> {
  if (!to) return;
  const isUpTo = ({ position }: RecordedEvent) => store.comparePositions(position, to.position) <= 0;
  for await (const page of store.readAll(after ? { from: after.position } : {})) {
    const wanted = page.filter(isUpTo);
    if (wanted.length > 0) yield wanted;
    if (wanted.length < page.length) return;
  }
}

interface Comparison {
  readonly live: string;
  readonly place: Checkpoint | undefined;
  readonly from: LogPlace | undefined;
  readonly pending: readonly PendingCause[];
}

async function reportOf(
  client: Client,
  dependencies: ReconcileDependencies,
  options: RunOptions,
  { live, place, from, pending }: Comparison,
): Promise<Report> {
  const { appId, environment } = options;
  const books = { appId, environment };
  const schema = schemaOf(dependencies);
  const results: CheckResult[] = [await logCheck(client, schema, place)];
  const rows = await compareReadSchemas(client, { expected: schema, actual: live, place: books });
  results.push(...rows.map(rowCheck));
  const subjects = pending.map(({ subject }) => subject);
  results.push(...(await crossChecks(client, schema, books, subjects)));

  return {
    ...books,
    ok: results.every(({ check }) => check.ok),
    position: place?.position ?? '0',
    checkedAt: dependencies.clock().toISOString(),
    mode: from ? 'incremental' : 'full',
    verifiedFrom: from?.position ?? null,
    checks: results.map(({ check }) => check),
    inFlight: pending
      .filter(({ subject }) => isOf(books, subject))
      .map(({ reaction, subject }) => ({ reaction, subject })),
    warnings: [
      ...(await standingSkips(dependencies, books)),
      ...(await sharedTransactionUuids(client, schema, books)),
    ],
    totals: await trialBalances(client, schema, books),
    discrepancies: results.flatMap(({ discrepancies }) => discrepancies),
  };
}

async function standingSkips(
  { skipsOf }: ReconcileDependencies,
  { appId, environment }: BooksPlace,
): Promise<readonly SkippedEvent[]> {
  const skips = (await skipsOf?.({ appId, environment })) ?? [];
  return skips.map(({ stream, revision, consumer, eventId, eventType, reason, skippedAt }) => ({
    code: 'event_skipped',
    subject: `${stream} ${revision}`,
    sessions: [],
    consumer,
    eventId,
    eventType,
    reason,
    skippedAt,
  }));
}

/**
 * The fold gets here only by taking every event up to the place; their number must match what the rows say.
 */
async function logCheck(db: Queryable, schema: string, place: Checkpoint | undefined): Promise<CheckResult> {
  const reached = await readCheckpoint(db, { schema, name: READ_MODELS_CONSUMER });
  const [expected, actual] = [reached, place].map((one) => ({ ordinal: `${one?.ordinal ?? 0}` }));
  const ok = reached?.ordinal === place?.ordinal;
  return {
    check: { name: 'log', ok, examined: reached?.ordinal ?? 0 },
    discrepancies:
      ok || !expected || !actual
        ? []
        : [{ check: 'log', subject: 'checkpoint of the read models', expected, actual }],
  };
}

/**
 * An event that the rules of its stream do not allow: the books of its app are wrong, those of others
 * unknown.
 */
async function poisonReport(
  dependencies: ReconcileDependencies,
  options: RunOptions,
  error: PoisonEventError,
  from: LogPlace | undefined,
): Promise<Report> {
  const { stream, revision, type } = error.event;
  if (!isOf(options, stream)) {
    throw new CoverageIncompleteError('read_models_behind', error.message, { cause: error });
  }
  // An earlier alteration is to blame.
  const altered = (await readAltered(dependencies.pool, schemaOf(dependencies))).filter(
    isAnAlterationOf(options),
  );
  const poison = {
    check: 'log',
    subject: `${stream} ${revision}`,
    expected: { event: 'one that follows from its stream' },
    actual: { event: type, problem: error.message },
  };
  return logReport(
    dependencies,
    options,
    from,
    1,
    altered.length > 0 ? altered.map(alteredDiscrepancy) : [poison],
  );
}

/** The log itself is wrong, so nothing can be compared with it. */
async function logReport(
  dependencies: ReconcileDependencies,
  { appId, environment }: RunOptions,
  from: LogPlace | undefined,
  examined: number,
  discrepancies: readonly Discrepancy[],
): Promise<Report> {
  return {
    appId,
    environment,
    ok: false,
    position: from?.position ?? '0',
    checkedAt: dependencies.clock().toISOString(),
    mode: from ? 'incremental' : 'full',
    verifiedFrom: from?.position ?? null,
    checks: [{ name: 'log', ok: false, examined }],
    inFlight: [],
    warnings: await standingSkips(dependencies, { appId, environment }),
    totals: [],
    discrepancies,
  };
}

/** In the stream where it was chained, or the one where it is now. */
const isAnAlterationOf =
  (books: BooksPlace) =>
  ({ subject, stream }: { readonly subject: string; readonly stream: string }): boolean =>
    isOf(books, subject) || isOf(books, stream);

/** `subject` begins with the name of a stream. */
function isOf({ appId, environment }: BooksPlace, subject: string): boolean {
  const name = parseStreamName(subject.split(' ')[0] ?? '');
  return name?.owner === appId && name.environment === environment;
}
