/** The result of a verification, for people: its figures, with the faults below. */
import { isRow, rowsTable, tableOf } from './output.ts';

export function verificationTable(result: unknown): string {
  if (!isRow(result)) return tableOf(result);
  // The refusal's code and message go to standard error.
  const { faults, code: _code, message: _message, ...figures } = result;
  const found = Array.isArray(faults) ? faults.filter(isRow) : [];
  return found.length === 0 ? tableOf(figures) : `${tableOf(figures)}\n${rowsTable(found)}`;
}
