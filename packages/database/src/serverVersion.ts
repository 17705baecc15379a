/** The versions of PostgreSQL that Coffer runs on, and the message for all others. */
import type { Queryable } from './pool.ts';

/** The oldest and newest major versions: the specs run on both. */
export const OLDEST_POSTGRES = 15;
export const NEWEST_POSTGRES = 18;

/** The server is too old to start on. */
export class UnsupportedPostgresError extends Error {
  override readonly name = 'UnsupportedPostgresError';
}

export interface PostgresVersion {
  readonly major: number;
  /** As the server reports it: "18.1". */
  readonly text: string;
}

/** Throws `UnsupportedPostgresError`. A server newer than we know is accepted; the operator should be warned. */
export async function requireSupportedPostgres(db: Queryable): Promise<PostgresVersion> {
  const { rows } = await db.query<{ number: string; text: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as text`,
  );
  const [row] = rows;
  const version = { major: Math.floor(Number(row?.number) / 10_000), text: String(row?.text) };
  if (version.major >= OLDEST_POSTGRES) return version;
  throw new UnsupportedPostgresError(
    [
      `The database is PostgreSQL ${version.text}, and Coffer needs ${OLDEST_POSTGRES} to ${NEWEST_POSTGRES}.`,
      'Upgrade that server, or set DATABASE_URL to a newer one; without DATABASE_URL the embedded one is used.',
    ].join('\n'),
  );
}
