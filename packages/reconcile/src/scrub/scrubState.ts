/** What is stored of the scrub between two turns. JSON. */
import type { BooksPlace, Report } from '../report.ts';

/** How far the log is verified: the end of a block of its hash chain. */
export interface ScrubPlace {
  readonly ordinal: number;
  readonly hash: string;
  readonly position: string;
  readonly eventId: string;
  readonly recordedUntilMs: number;
}

/** Something that is wrong. */
export interface Finding {
  readonly part: 'log' | 'books';
  /** The kind of the fault, or the name of the check. */
  readonly check: string;
  /** The stream and revision, or what the check names. */
  readonly subject: string;
  readonly details: unknown;
}

export interface Findings {
  readonly count: number;
  readonly first: readonly Finding[];
}

export type Stage =
  /** The log is verified, stretch by stretch. */
  | { readonly kind: 'verifying'; readonly end: ScrubPlace; readonly reached: ScrubPlace | null }
  /** The books are derived from the first event, in a fold of their own. */
  | { readonly kind: 'deriving'; readonly ordinal: number | null }
  /** The books are compared with the live ones, one app and environment after the other. */
  | { readonly kind: 'comparing'; readonly after: string | null };

export interface Pass {
  /** ISO 8601. */
  readonly begunAt: string;
  /** Events in the chain when the pass began. */
  readonly events: number;
  readonly stage: Stage;
  readonly findings: Findings;
}

export interface ScrubState {
  /** Null between two passes. */
  readonly pass: Pass | null;
  readonly lastPass: {
    readonly endedAt: string;
    readonly seconds: number;
    readonly findings: number;
  } | null;
  /** From the first finding until a whole pass finds nothing. */
  readonly alarm: { readonly since: string; readonly findings: Findings } | null;
}

export const NOTHING_FOUND: Findings = { count: 0, first: [] };

/** How many are kept individually. */
const MOST_KEPT = 20;

export const withFindings = (
  { count, first }: Findings,
  found: readonly Finding[],
  foundCount = found.length,
): Findings => ({ count: count + foundCount, first: [...first, ...found].slice(0, MOST_KEPT) });

export const keyOf = ({ appId, environment }: BooksPlace): string => `${appId} ${environment}`;

export const findingsOf = ({ appId, environment, position, discrepancies }: Report): readonly Finding[] =>
  discrepancies.map(({ check, subject, expected, actual }) => ({
    part: 'books',
    check,
    subject,
    details: { appId, environment, position, expected, actual },
  }));
