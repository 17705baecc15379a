/** Which versions of PostgreSQL serve, and what is said of the others. */
import type { Queryable } from './pool.ts';

/** The oldest and the newest major version that serve: on both the specs were run. */
export const OLDEST_POSTGRES = 15;
export const NEWEST_POSTGRES = 18;

/** The server is too old: a start on it is refused. */
export class UnsupportedPostgresError extends Error {
  override readonly name = 'UnsupportedPostgresError';
}

export interface PostgresVersion {
  readonly major: number;
  /** As the server tells it: "18.1". */
  readonly text: string;
}

/** Throws `UnsupportedPostgresError`. A newer server than we know is taken: whoever starts on it is to be told. */
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
