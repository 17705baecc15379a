/** Connections to Postgres: pools, and transactions that cannot leak a connection. */
import pg from 'pg';

export type Pool = pg.Pool;
export type Client = pg.ClientBase;
/** A pool, or a client in a transaction: for code that only runs queries. */
export type Queryable = Pick<pg.Pool, 'query'>;

export interface PoolOptions {
  readonly connectionString: string;
  readonly maxConnections?: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Of its sessions, as command line options of a server: `-c name=value`. */
  readonly settings?: string;
  /**
   * How long an answer to one statement may take: whoever waits for a server that is gone without a word would wait for
   * ever. The connection is closed then. Default: without a bound.
   */
  readonly statementWithinMs?: number;
  /** Called for errors on idle connections (a server restart), which the pool itself survives. */
  readonly onIdleError: (error: Error) => void;
}

/** Of a request or of a consumer's page, which are answered in a fraction of it. */
export const STATEMENT_WITHIN_MS = 30_000;

/** Of a question whose answer others wait for, who came after it: a connection that is silent for longer is given up. */
export const SHARED_ANSWER_WITHIN_MS = 3_000;

/** A statement with a bound of its own, shorter than the pool's. The driver's types do not know it. */
export const answeredWithin = (withinMs: number, statement: pg.QueryConfig): pg.QueryConfig => ({
  ...statement,
  ...{ query_timeout: withinMs },
});

/** Then the system asks the silent other side whether it is still there. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** `numeric` and `int8` come back as strings; the caller chooses bigint or number. */
export function createPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    ...(options.statementWithinMs !== undefined && { query_timeout: options.statementWithinMs }),
    ...(options.settings !== undefined && { options: options.settings }),
  });
  pool.on('error', options.onIdleError);
  // One may be lost by the very packet that opens it, before whoever asked for it can listen, and an error that nobody
  // listens to ends the process. The next query fails instead.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Runs `work` with a pool for it alone. */
export async function withPool<Result>(
  connectionString: string,
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = createPool({
    connectionString,
    applicationName: 'coffer-start',
    maxConnections: 2,
    onIdleError: () => undefined,
  });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Runs `work` in one transaction: committed when it returns, rolled back when it throws. */
export async function withTransaction<Result>(
  pool: Pool,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  const noteLoss = (error: Error) => {
    failure = error;
  };
  // A lost connection fails the current query or the next; without a listener its error would end the process.
  client.on('error', noteLoss);
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    if (isLateAnswer(error)) failure = error;
    // A connection whose rollback fails is not returned to the pool.
    else
      await client.query('rollback').catch((rollbackError: Error) => {
        failure = rollbackError;
      });
    throw error;
  } finally {
    // A lost connection may emit again while it is closed.
    if (!failure) client.off('error', noteLoss);
    client.release(failure);
  }
}

/** By the driver's own message: it has no code. Whatever the connection is asked next waits behind that statement. */
const isLateAnswer = (error: unknown): error is Error =>
  error instanceof Error && error.message === 'Query read timeout';

/**
 * Runs `work` with a dedicated connection, for things that belong to one (temporary tables). When it throws, the
 * connection is closed, and any open transaction with it.
 */
export async function withConnection<Result>(
  pool: Pool,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  const noteLoss = (error: Error) => {
    failure = error;
  };
  client.on('error', noteLoss);
  try {
    return await work(client);
  } catch (error) {
    failure ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    if (!failure) client.off('error', noteLoss);
    client.release(failure);
  }
}
