/** The oldest supported PostgreSQL, if its programs are on this machine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OLDEST_POSTGRES } from '@coffer/database';

/** Where distributions put them. */
const USUAL_FOLDERS = [
  `/usr/lib/postgresql/${OLDEST_POSTGRES}/bin`,
  `/usr/pgsql-${OLDEST_POSTGRES}/bin`,
  `/opt/homebrew/opt/postgresql@${OLDEST_POSTGRES}/bin`,
];

/** The folder of the programs: COFFER_SPEC_OLDEST_POSTGRES, or one of the usual ones. */
export function oldestPostgresPrograms(): string | undefined {
  const named = process.env.COFFER_SPEC_OLDEST_POSTGRES;
  return named ?? USUAL_FOLDERS.find((folder) => existsSync(join(folder, 'initdb')));
}
