/** A check between rows of different kinds. */

export interface CrossCheck {
  readonly name: string;
  /** How many things the check looks at. */
  readonly examined: (schema: string) => string;
  /**
   * Rows that disagree: `subject`, `excused_by`, and columns `expected_*` and `actual_*` (absent if all of
   * them are null). $1 is the app, $2 the environment.
   */
  readonly findings: (schema: string) => string;
}

export const PLACE = 'app_id = $1 and environment = $2';
