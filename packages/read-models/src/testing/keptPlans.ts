import type { Queryable } from '@coffer/database';

/** What the statements begin with whose plans the connection keeps, in order. Of a pool it is the connection that was used last. */
export async function keptPlans(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ verb: string }>(
    `select distinct substring(statement from '\\w+') as verb from pg_prepared_statements order by verb`,
  );
  return rows.map(({ verb }) => verb);
}
