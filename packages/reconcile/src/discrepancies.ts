/** Turns findings into discrepancies. Pure. */
import type { RowDifference, TableComparison } from '@coffer/read-models';
import type { Check, Discrepancy } from './report.ts';

export interface CheckResult {
  readonly check: Check;
  readonly discrepancies: readonly Discrepancy[];
}

/** A finding of a check between rows, with what would excuse it while in flight. */
export interface Finding extends Omit<Discrepancy, 'check'> {
  /**
   * The account's stream and the hold or entry on it or, if it ends in a slash, their common prefix;
   * undefined: nothing excuses it.
   */
  readonly excusedBy: string | undefined;
}

/** The rows of one table compared with those that the log gives. */
export function rowCheck({ table, examined, differing, differences }: TableComparison): CheckResult {
  const name = `${table}_rows`;
  return {
    check: { name, ok: differing === 0, examined },
    discrepancies: differences.map(({ key, expected, actual }: RowDifference) => {
      return { check: name, subject: key, expected, actual };
    }),
  };
}

/** A finding counts unless its cause is in flight; `inFlight` holds the subjects of what is. */
export function findingCheck(
  name: string,
  examined: number,
  findings: readonly Finding[],
  inFlight: readonly string[],
): CheckResult {
  const isExcused = ({ excusedBy }: Finding) =>
    excusedBy !== undefined &&
    inFlight.some((subject) =>
      // Callers choose refs: one may be the prefix of another.
      excusedBy.endsWith('/') ? subject.startsWith(excusedBy) : subject === excusedBy,
    );
  const discrepancies = findings
    .filter((finding) => !isExcused(finding))
    .map(({ excusedBy: _, ...found }) => ({ check: name, ...found }));
  return { check: { name, ok: discrepancies.length === 0, examined }, discrepancies };
}
