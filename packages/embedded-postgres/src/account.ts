/**
 * Which user runs the server, and what that user can reach. Postgres refuses to run as root, so a root service runs it
 * as an existing unprivileged user; a system user is never created.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { EmbeddedPostgresError } from './errors.ts';
import { statIfThere } from './files.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The user that Unix systems keep for processes that should own nothing. */
const UNPRIVILEGED_USER = 'nobody';

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Undefined if the service is not root: then the server runs as the service does. */
export async function unprivilegedAccount(): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8');
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === UNPRIVILEGED_USER);
  if (!fields) {
    throw new EmbeddedPostgresError(
      `Postgres does not run as root, and /etc/passwd has no user "${UNPRIVILEGED_USER}" to run it as. ` +
        'Start the service as an ordinary user, or set DATABASE_URL to a Postgres of your own.',
    );
  }
  // Some systems write the id as -2; the kernel's ids are unsigned.
  return { uid: Number(fields[2]) >>> 0, gid: Number(fields[3]) >>> 0 };
}

/**
 * The account for the cluster in `dataFolder`: its owner if it exists, since Postgres insists on that, else `fallback`.
 * Throws if the service cannot act as the owner.
 */
export async function accountForCluster(
  dataFolder: string,
  fallback: Account | undefined,
): Promise<Account | undefined> {
  const owner = await statIfThere(dataFolder);
  if (!owner) return fallback;
  if (isRoot()) {
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
    throw new EmbeddedPostgresError(
      `${dataFolder} belongs to root, and Postgres does not run as root. Give it to an ordinary user.`,
    );
  }
  if (owner.uid === process.getuid?.()) return undefined;
  throw new EmbeddedPostgresError(
    `${dataFolder} belongs to the user with id ${owner.uid}. Start the service as that user or as root.`,
  );
}

/**
 * The first folder on the way to `path` (itself included) that keeps `account` out; undefined if it can get there.
 * Judged by the mode bits; folders that do not exist yet are ignored.
 */
export async function firstClosedFolder(path: string, account: Account): Promise<string | undefined> {
  const parents: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    parents.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of parents) {
    const stats = await statIfThere(folder);
    if (!stats) return undefined;
    if (!allows(stats, account, 0o1)) return folder;
  }
  return undefined;
}

/** Whether `account` may read and execute the file, ignoring its parents. */
export async function isExecutableFor(path: string, account: Account): Promise<boolean> {
  return allows(await stat(path), account, 0o5);
}

function allows(stats: { uid: number; gid: number; mode: number }, account: Account, bits: number): boolean {
  const shift = stats.uid === account.uid ? 6 : stats.gid === account.gid ? 3 : 0;
  return ((stats.mode >> shift) & bits) === bits;
}
