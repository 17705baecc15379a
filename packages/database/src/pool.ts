/** Connections to Postgres: one pool a process, and transactions that cannot leak a connection. */
import pg from 'pg';

export type Pool = pg.Pool;
export type Client = pg.ClientBase;
/** A pool or a client in a transaction: whoever only runs a query takes this. */
export type Queryable = Pick<pg.Pool, 'query'>;

export interface PoolOptions {
  readonly connectionString: string;
  readonly maxConnections?: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Told of errors on idle connections (a server restart), which the pool itself survives. */
  readonly onIdleError: (error: Error) => void;
}

/** `numeric` and `int8` come back as strings: the caller decides between bigint and number. */
export function createPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName,
    connectionTimeoutMillis: 5_000,
  });
  pool.on('error', options.onIdleError);
  return pool;
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
  // A connection that is lost fails the query in flight or the next one; unheard, it would end the process.
  client.on('error', noteLoss);
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    // A connection whose rollback fails is not returned to the pool.
    await client.query('rollback').catch((rollbackError: Error) => {
      failure = rollbackError;
    });
    throw error;
  } finally {
    // One that is lost may say so again while it is taken down.
    if (!failure) client.off('error', noteLoss);
    client.release(failure);
  }
}

/**
 * Runs `work` with a connection of its own, for what belongs to one (temporary tables). When it throws the
 * connection is ended, and with it whatever transaction was under way.
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
