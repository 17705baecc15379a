/** Files with secrets in the data folder: readable by the owner only, and either complete or absent. */
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Its content is not what was written: the message says what to do. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

/** Writes a file next to it and renames, durably: a kill at any instant leaves the old file or the new one. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const beside = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Undefined when there is no such file. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
