/**
 * Where the cluster of a data folder is: in the data folder, unless the service is root and a folder on the way keeps
 * the unprivileged user out. Then it is under /var/lib/coffer, a file in the data folder names the place, and no
 * permissions are changed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Account, firstClosedFolder } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { hasCode, readIfThere, statIfThere, syncFolder, writeDurably } from './files.ts';
import type { Logger } from './logger.ts';
import { isAlive } from './processes.ts';
import { socketFolderOf } from './socketFolder.ts';

export const SYSTEM_FOLDER = '/var/lib/coffer';

/** The file in the data folder that names a place elsewhere. */
const POINTER_FILE = 'postgres.json';

export interface Place {
  /** Holds the cluster (`data`), its password, its log and its socket. */
  readonly clusterFolder: string;
  readonly dataFolder: string;
  readonly passwordFile: string;
  readonly logFile: string;
  /** Set if the cluster is outside the data folder. */
  readonly pointerFile: string | undefined;
}

interface Pointer {
  readonly clusterFolder: string;
  /** False until there has been a cluster: after that, its absence means lost data, not a first start. */
  readonly initialized: boolean;
}

/** Finds the cluster's place, or chooses one (`account`: who will run the server, if not the service). */
export async function findPlace(
  folder: string,
  account: Account | undefined,
  logger: Logger,
): Promise<Place> {
  await mkdir(folder, { recursive: true });
  await removeAbandonedDrafts(resolve(folder));
  const present = await presentPlace(folder);
  if (present) return present;
  const closed = account && (await firstClosedFolder(folder, account));
  if (!closed) return placeInside(folder);

  const pointerFile = join(resolve(folder), POINTER_FILE);
  const pointer = await createPointer(resolve(folder), pointerFile);
  logger.info(
    { clusterFolder: pointer.clusterFolder, closedFolder: closed, pointerFile },
    'Postgres does not run as root and its user cannot enter the data folder: the database lives elsewhere',
  );
  return placeFrom(pointer, pointerFile);
}

/** Where the cluster is, or is to be again; undefined if the folder has none and names none. Makes nothing. */
export async function presentPlace(folder: string): Promise<Place | undefined> {
  const inside = placeInside(folder);
  if (await statIfThere(inside.dataFolder)) return inside;
  const pointerFile = join(resolve(folder), POINTER_FILE);
  const known = await readPointer(pointerFile);
  return known && placeFrom(known, pointerFile);
}

/** To be called once the cluster is there. */
export async function rememberInitialized(place: Place): Promise<void> {
  if (!place.pointerFile) return;
  const pointer = await readPointer(place.pointerFile);
  if (pointer?.initialized) return;
  await writePointer(place.pointerFile, { clusterFolder: place.clusterFolder, initialized: true });
}

/** Deletes a data folder with its cluster, wherever that is. Only for folders in which nothing runs any more. */
export async function removeDataFolder(folder: string): Promise<void> {
  const pointer = await readPointer(join(resolve(folder), POINTER_FILE));
  const clusterFolder = pointer?.clusterFolder ?? join(resolve(folder), 'postgres');
  await rm(socketFolderOf(clusterFolder).path, { recursive: true, force: true });
  await rm(clusterFolder, { recursive: true, force: true });
  if (pointer) {
    await rmdir(dirname(clusterFolder)).catch((error: unknown) => {
      // An earlier cluster of the same folder still exists: not ours to delete.
      if (!hasCode(error, 'ENOTEMPTY', 'ENOENT')) throw error;
    });
  }
  await rm(folder, { recursive: true, force: true });
}

/** Whatever the umask, every user can pass through a folder made here; an existing one is left alone. */
export async function makePassable(folder: string): Promise<void> {
  if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711);
}

const placeInside = (folder: string): Place => placeIn(join(resolve(folder), 'postgres'), undefined);

function placeIn(clusterFolder: string, pointerFile: string | undefined): Place {
  return {
    clusterFolder,
    dataFolder: join(clusterFolder, 'data'),
    passwordFile: join(clusterFolder, 'password'),
    logFile: join(clusterFolder, 'postgres.log'),
    pointerFile,
  };
}

async function placeFrom(pointer: Pointer, pointerFile: string): Promise<Place> {
  const place = placeIn(pointer.clusterFolder, pointerFile);
  if (pointer.initialized && !(await statIfThere(place.dataFolder))) {
    throw new EmbeddedPostgresError(
      `${pointerFile} says that the database lives in ${pointer.clusterFolder}, but it is not there. ` +
        `Put it back; or, to begin with an empty database, delete ${pointerFile}.`,
    );
  }
  return place;
}

async function readPointer(pointerFile: string): Promise<Pointer | undefined> {
  const text = await readIfThere(pointerFile);
  if (text === undefined) return undefined;
  const pointer: unknown = JSON.parse(text);
  if (
    typeof pointer === 'object' &&
    pointer &&
    'clusterFolder' in pointer &&
    typeof pointer.clusterFolder === 'string' &&
    'initialized' in pointer
  ) {
    return { clusterFolder: pointer.clusterFolder, initialized: pointer.initialized === true };
  }
  throw new EmbeddedPostgresError(`${pointerFile} does not name the place of a database.`);
}

async function createPointer(folder: string, pointerFile: string): Promise<Pointer> {
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const home = join(SYSTEM_FOLDER, hash);
  await makePassable(SYSTEM_FOLDER);
  await makePassable(home);
  // A new name: an emptied data folder starts afresh, and what it had before is not touched.
  const clusterFolder = join(home, `postgres-${randomBytes(4).toString('hex')}`);
  const draft = `${pointerFile}.draft-${process.pid}`;
  await writePointer(draft, { clusterFolder, initialized: false });
  try {
    await link(draft, pointerFile);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  await syncFolder(folder);
  // If two services start at once, the second takes the place that the first has named.
  const pointer = await readPointer(pointerFile);
  if (!pointer) throw new EmbeddedPostgresError(`${pointerFile} was deleted during the start.`);
  return pointer;
}

/** Removes what a start that was killed while writing the pointer has left. */
async function removeAbandonedDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid] = /^postgres\.json\..*?(\d+)$/.exec(name) ?? [];
    // This process's own drafts get the same names when written again.
    if (pid && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

async function writePointer(pointerFile: string, pointer: Pointer): Promise<void> {
  await writeDurably(pointerFile, `${JSON.stringify(pointer, null, 2)}\n`, 0o644);
}
