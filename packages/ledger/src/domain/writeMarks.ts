/**
 * What the outline of a session keeps of its writes, as the UTF-16 units of a string. Of most of them 16 bits of the key: they
 * tell that a uuid is new; that it may not be, in one of two hundred cases with 300 writes. Of some the whole row.
 */
import { KeyIndex, type KeyWords } from '@coffer/kernel';
import type { PackedWrites } from './packedWrites.ts';
import { WORDS, WORDS_OF_KEY } from './writeRows.ts';

export type WriteMarks = string;

/** With more writes, too many that are new would not be known to be. */
export const MOST_MARKED = 4_096;

const MARK_BITS = 0xffff;
const UNITS_OF_WORD = 2;
export const UNITS_OF_ROW = (WORDS_OF_KEY + WORDS) * UNITS_OF_WORD;

const firstWordOf = (rows: KeyIndex, row: number): number => rows.blockOf(row)[rows.rowAt(row)] ?? 0;

export const mayBeMarked = (marks: WriteMarks, key: KeyWords): boolean =>
  marks.includes(String.fromCharCode((key[0] ?? 0) & MARK_BITS));

export const marksOfPacked = ({ firstWords }: PackedWrites): WriteMarks =>
  textOf(new Uint16Array(firstWords));

/** Of the first so many rows. */
export function marksOfRows(rows: KeyIndex, count: number): WriteMarks {
  if (count === 1) return String.fromCharCode(firstWordOf(rows, 0) & MARK_BITS);
  const marks = new Uint16Array(count);
  for (let row = 0; row < count; row++) marks[row] = firstWordOf(rows, row);
  return textOf(marks);
}

export function rowsIn(text: string): KeyIndex {
  const words = new Uint32Array(text.length / UNITS_OF_WORD);
  Buffer.from(words.buffer).write(text, 'utf16le');
  return KeyIndex.decode(words, WORDS);
}

/** Each word of 32 bits is two units. */
export const textOf = ({ buffer }: Uint16Array<ArrayBuffer> | Uint32Array): string =>
  Buffer.from(buffer).toString('utf16le');
