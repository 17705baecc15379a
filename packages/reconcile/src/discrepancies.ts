/** From what was found to what is wrong: pure. */
import type { RowDifference, TableComparison } from '@coffer/read-models';
import type { Check, Discrepancy } from './report.ts';

export interface CheckResult {
  readonly check: Check;
  readonly discrepancies: readonly Discrepancy[];
}

/** A finding of a check between rows, with what would excuse it while it is in flight. */
export interface Finding extends Omit<Discrepancy, 'check'> {
  /**
   * The account's stream and the hold or entry on it or, where it ends in a slash, the beginning of these; undefined:
   * nothing excuses it.
   */
  readonly excusedBy: string | undefined;
}

/** The rows of one table against those that the log gives. */
export function rowCheck({ table, examined, differing, differences }: TableComparison): CheckResult {
  const name = `${table}_rows`;
  return {
    check: { name, ok: differing === 0, examined },
    discrepancies: differences.map(({ key, expected, actual }: RowDifference) => {
      return { check: name, subject: key, expected, actual };
    }),
  };
}

/** A finding counts unless its cause is in flight; `inFlight` are the subjects of what is. */
export function findingCheck(
  name: string,
  examined: number,
  findings: readonly Finding[],
  inFlight: readonly string[],
): CheckResult {
  const isExcused = ({ excusedBy }: Finding) =>
    excusedBy !== undefined &&
    inFlight.some((subject) =>
      // Callers choose refs: one may begin as another does.
      excusedBy.endsWith('/') ? subject.startsWith(excusedBy) : subject === excusedBy,
    );
  const discrepancies = findings
    .filter((finding) => !isExcused(finding))
    .map(({ excusedBy: _, ...found }) => ({ check: name, ...found }));
  return { check: { name, ok: discrepancies.length === 0, examined }, discrepancies };
}
