import { existsSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

/** Linux's folder in memory. */
const FOLDER = '/dev/shm';
const TMPFS = 0x01021994;
/** More than the databases of all specs that run at once. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * A folder for temporary files that is kept in memory, if this machine has one with enough room. Specs make and remove
 * a database of 550 files for each suite: a file system on a disk takes ten times as much of the processor for that.
 */
export function memoryFolder(folder = FOLDER): string | undefined {
  // Other systems have no such folder.
  if (!existsSync(folder) || !isInMemory(folder)) return undefined;
  const { bavail, bsize } = statfsSync(folder);
  const room = Math.min(bavail * bsize, freemem());
  return room >= ROOM_BYTES ? folder : undefined;
}

export const isInMemory = (folder: string): boolean => statfsSync(folder).type === TMPFS;
