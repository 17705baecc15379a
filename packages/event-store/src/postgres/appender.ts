/**
 * Group commit: appends that wait are sent together, one call of the database a batch, over a connection of
 * their own, the next batch on its way while one is carried out. Batches of several processes take turns in the
 * database, by the lock in the function; nothing here has to be right for the log to be.
 */
import pg from 'pg';
import { checkAppend } from '../appendRequest.ts';
import {
  InvalidAppendError,
  LogRewrittenError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreRefusedError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from '../errors.ts';
import type { AppendRequest, AppendResult, ExpectedRevision, Position } from '../port.ts';
import { APPEND_SESSION } from './appendSession.ts';
import { int4Array, int8Array, textArray, uuidArray } from './binaryArrays.ts';
import { type Combined, canJoin, combinedOf, join } from './combinedAppends.ts';
import { isDataError, isReadOnly, isRefused, isStatementError } from './failures.ts';

export interface AppenderOptions {
  readonly connectionString: string;
  readonly applicationName: string;
  readonly maxQueuedEntries: number;
  readonly maxQueuedBytes: number;
  /** Called after a batch in which something was written. */
  readonly onAppended: () => void;
  /** Finds the events of a retry: the position of the last where all stand at the place expected. */
  readonly findAppended: (request: AppendRequest) => Promise<Position | undefined>;
}

export interface Appender {
  append(request: AppendRequest): Promise<AppendResult>;
  /** Sends what is queued, then ends the connections. */
  close(): Promise<void>;
}

/**
 * The second waits in the server's socket, so that it begins when the first has committed. Two connections
 * would hand the lock from one process to the other instead: 28,000 to 33,000 appends/s where this has 36,000
 * to 41,000, and one batch at a time 20,000 to 24,000.
 */
const BATCHES_IN_FLIGHT = 2;
/** One batch carries at most so many events; a larger single append goes alone. */
const MAX_BATCH_EVENTS = 128;
/** And so many bytes, so that a few large appends do not hold up the small ones of a whole batch. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** A reply that has not come by then will not come. */
const REPLY_TIMEOUT_MS = 15_000;

interface Entry {
  readonly request: AppendRequest;
  readonly bytes: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (reason: unknown) => void;
}

type BatchRow = readonly [
  base: string,
  verdicts: readonly number[],
  currentRevisions: readonly string[],
  foundRevisions: readonly (string | null)[] | null,
  foundPositions: readonly (string | null)[] | null,
];
const VERDICT = { appended: 0, conflict: 1, rewritten: 2, present: 3 } as const;

const EXPECTED = { noStream: -1, any: -2, streamExists: -4 } as const;
const expectedCode = (expected: ExpectedRevision): number =>
  typeof expected === 'number' ? expected : EXPECTED[expected];

const APPEND = {
  name: 'coffer-append-v1',
  text: `select base, verdicts, current_revisions, found_revisions, found_positions
         from log.append_v1($1::text[], $2::bigint[], $3::uuid[],
                            $4::int[], $5::int[], $6::uuid[], $7::text[], $8::text[], $9::text[])`,
  rowMode: 'array',
} as const;
/** For batches in which appends without an exact revision are combined. */
const APPEND_FRESH = {
  name: 'coffer-append-v2',
  text: `select base, verdicts, current_revisions, found_revisions, found_positions
         from log.append_v2($1::text[], $2::bigint[], $3::uuid[],
                            $4::int[], $5::int[], $6::uuid[], $7::text[], $8::text[], $9::text[],
                            $10::int[], $11::uuid[])`,
  rowMode: 'array',
} as const;

/** What a batch holds of one stream. */
type Group = Combined<Entry>;

export function createAppender(options: AppenderOptions): Appender {
  const queue: Entry[] = [];
  let queuedBytes = 0;
  /** The connection in use, or the one being made. */
  let connected: Promise<pg.Client> | undefined;
  let alive: pg.Client | undefined;
  let inFlight = 0;
  const streamsInFlight = new Set<string>();
  let pumpScheduled = false;
  /** Entries that were denied and may be retries: looked up meanwhile, they hold up no batch. */
  let lookups = 0;
  let closing: Promise<unknown> | undefined;
  let onIdle: () => void = () => undefined;

  return {
    append(request) {
      try {
        const bytes = checkAppend(request);
        if (closing) throw new StoreUnreachableError('The store is closed.');
        const waiting = queue.length + lookups;
        if (waiting >= options.maxQueuedEntries || queuedBytes + bytes > options.maxQueuedBytes) {
          throw new StoreOverloadedError(`${waiting} appends are waiting already.`);
        }
        return new Promise((resolve, reject) => {
          queue.push({ request, bytes, resolve, reject });
          queuedBytes += bytes;
          schedulePump();
        });
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async close() {
      closing ??= endWhenIdle();
      await closing;
    },
  };

  async function endWhenIdle(): Promise<void> {
    if (!isIdle()) {
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
    }
    // One that could not be made needs no end.
    await connected?.then(
      (client) => client.end(),
      () => undefined,
    );
  }

  /** At the end of the tick, so that appends of one tick share a batch. */
  function schedulePump(): void {
    if (pumpScheduled) return;
    pumpScheduled = true;
    setImmediate(() => {
      pumpScheduled = false;
      pump();
    });
  }

  function pump(): void {
    // While a batch is on its way, only a full one follows it: many small ones would cost more than they gain.
    while (inFlight === 0 || (inFlight < BATCHES_IN_FLIGHT && queue.length >= MAX_BATCH_EVENTS)) {
      const batch = takeBatch();
      if (batch.length === 0) break;
      inFlight += 1;
      void sendInTurn(batch);
    }
    if (isIdle()) onIdle();
  }

  function isIdle(): boolean {
    return queue.length === 0 && lookups === 0 && inFlight === 0;
  }

  /**
   * The oldest entries, none of a stream that is in flight: they keep their order. Those of one stream are combined
   * where they can be, and else wait for the next batch.
   */
  function takeBatch(): Group[] {
    const batch = new Map<string, Group>();
    const passedOver = new Set<string>();
    let events = 0;
    let bytes = 0;
    let index = 0;
    while (index < queue.length) {
      const entry = queue[index];
      if (!entry) break;
      const { stream } = entry.request;
      const group = batch.get(stream);
      const isInTheWay = group ? !canJoin(group, entry) : streamsInFlight.has(stream);
      if (passedOver.has(stream) || isInTheWay) {
        passedOver.add(stream);
        index += 1;
        continue;
      }
      events += entry.request.events.length;
      bytes += entry.bytes;
      if (batch.size > 0 && (events > MAX_BATCH_EVENTS || bytes > MAX_BATCH_BYTES)) break;
      queuedBytes -= entry.bytes;
      if (group) join(group, entry);
      else batch.set(stream, combinedOf(entry));
      if (index === 0) queue.shift();
      else queue.splice(index, 1);
    }
    for (const stream of batch.keys()) streamsInFlight.add(stream);
    return [...batch.values()];
  }

  async function sendInTurn(batch: readonly Group[]): Promise<void> {
    try {
      await send(batch);
    } finally {
      for (const { stream } of batch) streamsInFlight.delete(stream);
      inFlight -= 1;
      pump();
    }
  }

  async function send(batch: readonly Group[]): Promise<void> {
    let client: pg.Client;
    try {
      client = await connection();
    } catch (cause) {
      const error = new StoreUnreachableError('The event store cannot be reached.', { cause });
      for (const { reject } of entriesOf(batch)) reject(error);
      refuseQueued(error);
      return;
    }
    let row: BatchRow;
    try {
      row = await withinReplyTime(client.query<BatchRow[]>(callOf(batch)));
    } catch (error) {
      await failed(client, batch, error);
      return;
    }
    await sendAlone(settle(batch, row));
  }

  /** One after the other, in their order. */
  async function sendAlone(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) await send([combinedOf(entry)]);
  }

  /** Nothing can be sent: what waits is told now, instead of each batch after a connection attempt of its own. */
  function refuseQueued(error: StoreUnreachableError): void {
    queuedBytes = 0;
    for (const { reject } of queue.splice(0)) reject(error);
  }

  async function failed(client: pg.Client, batch: readonly Group[], cause: unknown): Promise<void> {
    const entries = entriesOf(batch);
    if (!isStatementError(cause)) {
      drop(client);
      const error = new OutcomeUnknownError('The connection failed before the append was answered.', {
        cause,
      });
      for (const { reject } of entries) reject(error);
      return;
    }
    // A server that became a standby stays one for this connection; the next may find the one that writes.
    if (isReadOnly(cause)) drop(client);
    // The whole batch was rolled back. One entry's data must not decide its neighbours': each goes alone.
    if (entries.length > 1) {
      await sendAlone(entries);
      return;
    }
    if (isRefused(cause)) {
      entries[0]?.reject(
        new StoreRefusedError(`The user of DATABASE_URL may not append to the log: ${cause.message}.`, {
          cause,
        }),
      );
      return;
    }
    const error = isDataError(cause)
      ? new InvalidAppendError('The database refused the data of the append.', { cause })
      : new StoreUnreachableError('The database could not take the append; nothing was written.', { cause });
    entries[0]?.reject(error);
  }

  /** Answers what is decided; the appends of a group that was not written as one are given back. */
  function settle(batch: readonly Group[], row: BatchRow): readonly Entry[] {
    const [base, verdicts, currentRevisions, foundRevisions, foundPositions] = row;
    let position = BigInt(base);
    let wroteSome = false;
    const undecided: Entry[] = [];
    batch.forEach(({ entries }, index) => {
      let revision = Number(currentRevisions[index]);
      if (verdicts[index] === VERDICT.appended) {
        wroteSome = true;
        for (const { request, resolve } of entries) {
          position += BigInt(request.events.length);
          revision += request.events.length;
          resolve({ revision, position: position.toString() as Position, alreadyAppended: false });
        }
        return;
      }
      const [entry, ...others] = entries;
      if (!entry || others.length > 0) {
        undecided.push(...entries);
        return;
      }
      const { request, resolve, reject } = entry;
      switch (verdicts[index]) {
        case VERDICT.present:
          resolve({
            revision: Number(foundRevisions?.[index]),
            position: `${foundPositions?.[index]}` as Position,
            alreadyAppended: true,
          });
          break;
        case VERDICT.rewritten:
          reject(
            new LogRewrittenError(`Stream ${request.stream} holds another event than was read from it.`),
          );
          break;
        default:
          void resolveDenied(entry, revision);
      }
    });
    if (wroteSome) options.onAppended();
    return undecided;
  }

  /** Not at the revision expected: a retry whose events stand there already, or a conflict. */
  async function resolveDenied({ request, resolve, reject }: Entry, current: number): Promise<void> {
    const { stream, expectedRevision, events } = request;
    const actual = current < 0 ? undefined : current;
    lookups += 1;
    try {
      const position = await options.findAppended(request);
      if (position === undefined) {
        reject(new WrongExpectedRevisionError(stream, expectedRevision, actual));
      } else {
        const first = expectedRevision === 'noStream' ? 0 : Number(expectedRevision) + 1;
        resolve({ revision: first + events.length - 1, position, alreadyAppended: true });
      }
    } catch (cause) {
      // Nothing was written now; but if this is a retry, the append before it may stand in the log.
      const message = 'It could not be looked up whether the append had succeeded before.';
      reject(new OutcomeUnknownError(message, { cause }));
    } finally {
      lookups -= 1;
      if (isIdle()) onIdle();
    }
  }

  function connection(): Promise<pg.Client> {
    if (!connected) {
      const connecting = connect();
      connected = connecting;
      connecting.catch(() => {
        if (connected === connecting) connected = undefined;
      });
    }
    return connected;
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: options.connectionString,
      application_name: options.applicationName,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      pipeline: true,
      options: '-c default_transaction_isolation=read\\ committed',
    });
    // A lost connection is met by the batches in flight, and by the next one, which makes another.
    client.on('error', () => drop(client));
    await client.connect();
    await client.query(APPEND_SESSION);
    alive = client;
    return client;
  }

  function drop(client: pg.Client): void {
    if (alive === client) {
      alive = undefined;
      connected = undefined;
    }
    client.end().catch(() => undefined);
  }
}

const entriesOf = (batch: readonly Group[]): readonly Entry[] => batch.flatMap(({ entries }) => entries);

/** The statement with its parameters. */
function callOf(batch: readonly Group[]) {
  const entryNumbers: number[] = [];
  const places: number[] = [];
  const ids: string[] = [];
  const types: string[] = [];
  const datas: string[] = [];
  const metadatas: string[] = [];
  const freshNumbers: number[] = [];
  const freshIds: string[] = [];
  batch.forEach((group, index) => {
    let place = 0;
    for (const { request } of group.entries) {
      for (const { id, type, data, metadata } of request.events) {
        place += 1;
        entryNumbers.push(index + 1);
        places.push(place);
        ids.push(id);
        types.push(type);
        datas.push(data);
        metadatas.push(metadata);
      }
    }
    for (const id of group.freshIds()) {
      freshNumbers.push(index + 1);
      freshIds.push(id);
    }
  });
  const values = [
    textArray(batch.map(({ stream }) => stream)),
    int8Array(batch.map(({ expectedRevision }) => expectedCode(expectedRevision))),
    uuidArray(batch.map(({ expectedLastEventId }) => expectedLastEventId ?? null)),
    int4Array(entryNumbers),
    int4Array(places),
    uuidArray(ids),
    textArray(types),
    textArray(datas),
    textArray(metadatas),
  ];
  return freshIds.length === 0
    ? { ...APPEND, values }
    : { ...APPEND_FRESH, values: [...values, int4Array(freshNumbers), uuidArray(freshIds)] };
}

/** A server that stays silent is as good as a lost connection: the outcome is unknown. */
async function withinReplyTime(reply: Promise<pg.QueryArrayResult<BatchRow[]>>): Promise<BatchRow> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`No reply within ${REPLY_TIMEOUT_MS} ms.`)),
    REPLY_TIMEOUT_MS,
  );
  try {
    const { rows } = await Promise.race([reply, late]);
    // One call, one row of this very shape.
    return rows[0] as unknown as BatchRow;
  } finally {
    clearTimeout(timer);
    // Of a reply that comes too late nobody wants to know any more: the outcome was told as unknown.
    reply.catch(() => undefined);
  }
}
