/** What a verification has found, for people: its figures, and below them the faults. */
import { isRow, rowsTable, tableOf } from './output.ts';

export function verificationTable(result: unknown): string {
  if (!isRow(result)) return tableOf(result);
  // The refusal's code and words stand on standard error.
  const { faults, code: _code, message: _message, ...figures } = result;
  const found = Array.isArray(faults) ? faults.filter(isRow) : [];
  return found.length === 0 ? tableOf(figures) : `${tableOf(figures)}\n${rowsTable(found)}`;
}
