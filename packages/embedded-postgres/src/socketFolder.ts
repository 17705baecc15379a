/** Where the server's Unix socket is: for its service, and for tools such as psql. */
import { createHash } from 'node:crypto';
import { chown, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { hasCode } from './files.ts';

/** The kernel's limit for the path of a socket is 104 bytes on macOS, 108 on Linux. */
const LONGEST_SOCKET_PATH_BYTES = 100;

export function socketFolderOf(clusterFolder: string): { readonly path: string; readonly inside: boolean } {
  const inside = join(clusterFolder, 'socket');
  if (Buffer.byteLength(join(inside, '.s.PGSQL.65535')) <= LONGEST_SOCKET_PATH_BYTES) {
    return { path: inside, inside: true };
  }
  const hash = createHash('sha256').update(clusterFolder).digest('hex').slice(0, 16);
  return { path: `/tmp/coffer-${hash}`, inside: false };
}

/**
 * In the cluster's folder if the path is short enough for a socket, else a private folder in /tmp. None at all if
 * someone else has taken that name: then there is only the loopback address.
 */
export async function ensureSocketFolder(
  clusterFolder: string,
  account: Account | undefined,
): Promise<string | undefined> {
  const { path, inside } = socketFolderOf(clusterFolder);
  if (inside) return path;
  try {
    await mkdir(path, { mode: 0o700 });
    if (account) await chown(path, account.uid, account.gid);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const stats = await lstat(path);
  const isOurs = stats.isDirectory() && stats.uid === (account?.uid ?? process.getuid?.());
  return isOurs && (stats.mode & 0o077) === 0 ? path : undefined;
}
