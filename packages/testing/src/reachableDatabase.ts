/** A database that can be made unreachable for a while. */
import pg from 'pg';

export interface ReachableDatabase {
  /** Breaks every connection, and refuses new ones until it is reachable again. */
  readonly setReachable: (reachable: boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

export function reachableDatabase(databaseUrl: string): ReachableDatabase {
  const address = new URL(databaseUrl);
  const name = address.pathname.slice(1);
  address.pathname = '/postgres';
  const server = new pg.Pool({ connectionString: address.href, max: 1 });
  return {
    async setReachable(reachable) {
      await server.query(`alter database ${name} with allow_connections ${reachable}`);
      if (reachable) return;
      await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    },
    close: () => server.end(),
  };
}
