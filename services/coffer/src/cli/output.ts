/** What a command prints: one JSON document, or a table for people. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import Table from 'cli-table3';

/** Waits while the reader is slower. */
export async function write(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

export type Row = Readonly<Record<string, unknown>>;

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Rows for `{ items: [row] }`, otherwise names and values. */
export function tableOf(document: unknown): string {
  if (!isRow(document)) return cellOf(document);
  if (Array.isArray(document.items)) return rowsTable(document.items.filter(isRow));
  return pairsTable(Object.entries(document));
}

export function rowsTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'none';
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = new Table({ head: columns, style: { head: [], border: [] } });
  for (const row of rows) table.push(columns.map((column) => cellOf(row[column])));
  return table.toString();
}

function pairsTable(pairs: readonly (readonly [string, unknown])[]): string {
  const table = new Table({ style: { head: [], border: [] } });
  for (const [name, value] of pairs) table.push([name, cellOf(value)]);
  return table.toString();
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
