/** File system calls in which a missing file is an answer instead of an exception. */
import type { Stats } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Undefined if there is nothing at `path`. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  return undefinedIfMissing(stat(path));
}

/** Undefined if there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return undefinedIfMissing(readFile(path, 'utf8'));
}

/** Written whole or not at all, and on disk when it returns. */
export async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  const file = await open(temporary, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** After a rename: the folder entry itself reaches the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function undefinedIfMissing<Result>(answer: Promise<Result>): Promise<Result | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
