/**
 * The transactional kind of consumer: the rows of a page and the checkpoint are written in one transaction, so that a
 * crash at any instant leaves both or neither.
 */
import { type Client, type Queryable, withTransaction } from '@coffer/database';
import { type RecordedEvent, StoreUnreachableError } from '@coffer/event-store';
import type { Checkpoint } from './consumersTable.ts';
import { PoisonEventError } from './errors.ts';
import { type ConsumerWork, checkpointAt, type RunningWork, type Session } from './work.ts';

export interface Projection {
  /**
   * Folds the page in memory and writes a few statements per table. Applied to events it has already seen, it changes
   * nothing. `before` is the number of events of the log before the page. Projections of one consumer take a page at the
   * same time.
   */
  readonly apply: (db: Queryable, events: readonly RecordedEvent[], before: number) => Promise<void>;
  /** Skips the event: its stream continues after it, and none of it is in the rows. */
  readonly pass?: (db: Queryable, event: RecordedEvent) => Promise<void>;
  /** Discards what it remembers of the rows: the lease is new, or a page was rolled back. */
  readonly forget?: () => void;
}

/** Applies each page to all of the projections. */
export function projecting(projections: readonly Projection[]): ConsumerWork {
  return { begin: (session) => beginProjecting(projections, session) };
}

/** The part of a session that projecting needs. */
export type ProjectingSession = Pick<Session, 'pool' | 'place' | 'leaseMs' | 'save' | 'isSkipped'>;

export interface RunningProjections extends RunningWork {
  readonly place: () => Checkpoint | undefined;
  /** Takes a page in the caller's transaction; after a rollback the caller must discard this work. */
  readonly takeWithin: (client: Client, events: readonly RecordedEvent[]) => Promise<void>;
}

export function beginProjecting(
  projections: readonly Projection[],
  session: ProjectingSession,
): RunningProjections {
  let place = session.place;
  const forgetAll = () => {
    for (const projection of projections) projection.forget?.();
  };
  forgetAll();
  // A process frozen in a transaction must not keep the rows locked for its successor. Rows and checkpoint are lost
  // together or not at all, and what is lost is read again: no need to wait for the disk, which the appends need.
  const settings = `set local idle_in_transaction_session_timeout = ${Math.ceil(session.leaseMs)};
                    set local synchronous_commit = off`;

  return {
    place: () => place,
    take: (events) => takePage(session.pool, events, applyInTransaction),
    takeWithin: (client, events) =>
      takePage(client, events, (page, how) => applyInSavepoint(client, page, how)),
    caughtUp() {},
    async end() {},
    async saveLast() {},
    pending: () => undefined,
  };

  async function takePage(
    db: Queryable,
    events: readonly RecordedEvent[],
    apply: (events: readonly RecordedEvent[], how: How) => Promise<void>,
  ): Promise<void> {
    const [first] = events;
    if (!first) return;
    try {
      await apply(events, 'apply');
    } catch (error) {
      if (!(error instanceof CannotApplyError)) throw error;
      if (events.length === 1) {
        // Whoever took the lease may have changed the rows: then the event is not to blame.
        await session.save(db, place, place);
        if (await session.isSkipped(first)) return apply(events, 'pass');
        throw new PoisonEventError(first, error.cause);
      }
      // Bisects until the event to blame is alone, with everything before it applied.
      const middle = Math.ceil(events.length / 2);
      await takePage(db, events.slice(0, middle), apply);
      await takePage(db, events.slice(middle), apply);
    }
  }

  async function applyInTransaction(events: readonly RecordedEvent[], how: How): Promise<void> {
    try {
      place = await withTransaction(session.pool, async (client) => {
        await client.query(settings);
        return applyPage(client, events, how);
      });
    } catch (error) {
      forgetAll();
      throw error;
    }
  }

  /** Any error except an event that cannot be applied has ended the caller's transaction. */
  async function applyInSavepoint(client: Client, events: readonly RecordedEvent[], how: How): Promise<void> {
    await client.query('savepoint page');
    try {
      place = await applyPage(client, events, how);
    } catch (error) {
      forgetAll();
      if (error instanceof CannotApplyError) await client.query('rollback to savepoint page');
      throw error;
    }
    await client.query('release savepoint page');
  }

  async function applyPage(
    client: Client,
    events: readonly RecordedEvent[],
    how: How,
  ): Promise<Checkpoint | undefined> {
    const last = events.at(-1);
    if (!last) return place;
    const before = place?.ordinal ?? 0;
    const reached = checkpointAt(last, before + events.length);
    if (how === 'apply') await applyAll(client, events, before);
    else for (const event of events) await passAll(client, event);
    await session.save(client, place, reached);
    return reached;
  }

  async function passAll(client: Client, event: RecordedEvent): Promise<void> {
    for (const projection of projections) await projection.pass?.(client, event);
  }

  async function applyAll(client: Client, events: readonly RecordedEvent[], before: number): Promise<void> {
    const { db, isPassing, end } = watched(client);
    try {
      // One alone, by one projection after the other: which of them refuses it does not depend on their speed.
      if (events.length === 1)
        for (const projection of projections) await projection.apply(db, events, before);
      else await allDone(projections.map((projection) => projection.apply(db, events, before)));
    } catch (error) {
      // Nothing may reach the connection after the rollback.
      await end();
      throw isPassing(error) ? error : new CannotApplyError('The page cannot be applied.', { cause: error });
    }
  }
}

/** `pass`: the event is skipped. */
type How = 'apply' | 'pass';

/** Some event of the page cannot be applied; bisecting the page finds it. */
class CannotApplyError extends Error {
  override readonly name = 'CannotApplyError';
}

/**
 * Data exception, integrity constraint violation, and program limit exceeded (a value that is too large for its index):
 * the same rows would fail again. https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const BAD_DATA = /^(2[23]|54)/;

/** Throws the first failure when all have ended: until then they may use the connection. */
async function allDone(all: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(all)).filter((one) => one.status === 'rejected');
  const [first] = [...failed.filter(({ reason }) => !(reason instanceof NotSentError)), ...failed];
  if (first) throw first.reason;
}

/** The transaction has failed. */
class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/**
 * One statement at a time: the database works on that of one projection while another folds. Tells a database or a log that
 * failed (and may recover) from events that cannot be applied (and never will be).
 */
function watched(client: Client): {
  readonly db: Queryable;
  readonly isPassing: (error: unknown) => boolean;
  /** Waits for the statement in flight; none is sent after it. */
  readonly end: () => Promise<void>;
} {
  let isOver = false;
  const fromDatabase = new Set<unknown>();
  let last: Promise<void> = Promise.resolve();
  const send = async (...args: Parameters<Client['query']>) => {
    if (isOver) throw new NotSentError('The transaction has failed.');
    try {
      return await client.query(...args);
    } catch (error) {
      fromDatabase.add(error);
      isOver = true;
      throw error;
    }
  };
  const query = (...args: Parameters<Client['query']>) => {
    const sent = last.then(() => send(...args));
    last = sent.then(ignore, ignore);
    return sent;
  };
  return {
    // Same arguments and result; only the overloads cannot be typed for a wrapper.
    db: { query: query as unknown as Queryable['query'] },
    isPassing: (error) =>
      error instanceof StoreUnreachableError || (fromDatabase.has(error) && !BAD_DATA.test(sqlState(error))),
    end() {
      isOver = true;
      return last;
    },
  };
}

const ignore = () => undefined;

function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
