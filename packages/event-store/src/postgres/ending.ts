/** Ends of connections that are bounded: a server that has fallen silent answers no goodbye. */
import type { Pool } from '@coffer/database';
import type pg from 'pg';

const END_WITHIN_MS = 1_000;

/** Resolves when the socket is closed; by force if need be. */
export async function endClient(client: pg.Client): Promise<void> {
  const timer = setTimeout(breakOff, END_WITHIN_MS, client);
  await client.end();
  clearTimeout(timer);
}

/** For a new pool. What it returns ends the pool; queries that are under way have a moment to be answered. */
export function createPoolEnd(pool: Pool): () => Promise<void> {
  // The pool itself forgets a connection before its socket is closed.
  const open = new Set<pg.PoolClient>();
  pool.on('connect', (client) => open.add(client));
  pool.on('remove', (client) => open.delete(client));
  return async () => {
    const closed = [...open].map((client) => new Promise<void>((resolve) => client.once('end', resolve)));
    const timer = setTimeout(() => open.forEach(breakOff), END_WITHIN_MS);
    await pool.end();
    await Promise.all(closed);
    clearTimeout(timer);
  };
}

function breakOff({ connection }: pg.Client): void {
  connection.stream.destroy();
}
