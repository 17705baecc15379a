/** What the load generator is told, and what it reports. Sent between two processes, so plain data. */
import type { Target } from './preparedRequest.ts';

export type LoadRequests =
  | {
      readonly kind: 'bets';
      readonly sessionIds: readonly string[];
      /** 1 for single bets; else batches. */
      readonly betsPerRequest: number;
    }
  | {
      /** Sent one after another, from the first again after the last. */
      readonly kind: 'bodies';
      readonly bodies: readonly string[];
      /** The bodies of the answers are reported, in no particular order. */
      readonly keepAnswers: boolean;
    };

export interface LoadOrder {
  readonly target: Target;
  readonly connections: number;
  readonly requests: LoadRequests;
  readonly until:
    | { readonly kind: 'time'; readonly rampMs: number; readonly measuredMs: number }
    | { readonly kind: 'answers'; readonly answers: number };
}

export interface LoadReport {
  /** Answers within the measured time. */
  readonly answers: number;
  readonly measuredSeconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** All answers, also of the ramp and of what was still in flight at the end. */
  readonly answersInAll: number;
  /** Monotonic microseconds of the machine: where the measured time lies in a CPU profile. */
  readonly fromUs: number;
  readonly toUs: number;
  /** Empty unless the order asks for them. */
  readonly keptAnswers: readonly string[];
}

export type LoadOutcome =
  | { readonly kind: 'report'; readonly report: LoadReport }
  | { readonly kind: 'failure'; readonly message: string };

export const monotonicUs = (): number => Number(process.hrtime.bigint() / 1_000n);
