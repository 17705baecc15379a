import type { Queryable } from '@coffer/database';
import type { LogRight } from '../logRights.ts';

/**
 * An append that is refused for its revision never reaches the table, so that the right to insert is a question of its
 * own. Undefined if there is no log, or this user may not see it.
 */
export async function insertRight(db: Queryable): Promise<LogRight | undefined> {
  const { rows } = await db.query("select has_table_privilege(to_regclass('log.events'), 'insert') as given");
  const [{ given } = { given: null }] = rows;
  if (given === null) return undefined;
  const reason = given
    ? ''
    : 'The user of DATABASE_URL must own the schema "log", or be granted insert on log.events.';
  return { right: 'insert into log.events', given, reason };
}
