/** The orders and reports of the load generator. Sent between two processes, so plain data. */
import type { Target } from './preparedRequest.ts';

export type LoadRequests =
  | {
      readonly kind: 'bets';
      readonly sessionIds: readonly string[];
      /** 1 for single bets; otherwise batches. */
      readonly betsPerRequest: number;
    }
  | {
      /** Sent one after another, starting over after the last. */
      readonly kind: 'bodies';
      readonly bodies: readonly string[];
      /** Whether the bodies of the answers are reported, in no particular order. */
      readonly keepAnswers: boolean;
    };

export interface LoadOrder {
  readonly target: Target;
  readonly connections: number;
  readonly requests: LoadRequests;
  readonly until:
    | { readonly kind: 'time'; readonly rampMs: number; readonly measuredMs: number }
    /** Each request at its due time, whether or not others have been answered. */
    | { readonly kind: 'rate'; readonly perSecond: number; readonly measuredMs: number }
    | { readonly kind: 'answers'; readonly answers: number };
}

export interface LoadReport {
  /** Answers within the measured time. */
  readonly answers: number;
  readonly measuredSeconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** How late the generator itself was with a request, 99 of 100 times at the most; only at a rate. */
  readonly lateP99Ms: number | null;
  /** All answers, including those of the ramp and those still in flight at the end. */
  readonly answersInAll: number;
  /** Monotonic microseconds of the machine, to find the measured time in a CPU profile. */
  readonly fromUs: number;
  readonly toUs: number;
  /** Empty unless the order requests them. */
  readonly keptAnswers: readonly string[];
}

export type LoadOutcome =
  | { readonly kind: 'report'; readonly report: LoadReport }
  | { readonly kind: 'failure'; readonly message: string };

export const monotonicUs = (): number => Number(process.hrtime.bigint() / 1_000n);
