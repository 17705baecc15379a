/** The role that reconciles every app on a schedule, and scrubs the log and the books in between. */
import { defineContext, type Platform } from '@coffer/host';
import { systemClock } from '@coffer/kernel';
import type { BooksPlace, ChainReconciler, Reconciler, Scrubber } from '@coffer/reconcile';
import type { Chains } from '@coffer/solana';
import { startReconcilerRole } from './reconcilerRole.ts';
import { startScrubRole } from './scrubRole.ts';

export interface ReconcilerNeeds extends Platform {
  readonly reconciler: Reconciler;
  readonly chainReconciler: ChainReconciler;
  readonly scrubber: Scrubber;
  readonly places: () => Promise<readonly BooksPlace[]>;
  readonly chains: Chains;
  /** Cron expressions, in UTC. */
  readonly reconcileSchedule: string;
  /** Undefined: only on request. */
  readonly fullReconcileSchedule: string | undefined;
  /** 0 turns the scrub off. */
  readonly scrubPassMs: number;
}

export const reconcilerContext = defineContext({
  name: 'reconciler',
  create: (needs: ReconcilerNeeds) => ({
    workers: [
      {
        role: 'reconciler',
        start: () =>
          startReconcilerRole({
            ...needs,
            hasChain: (environment) => needs.chains.find(environment) !== undefined,
            schedule: needs.reconcileSchedule,
            fullSchedule: needs.fullReconcileSchedule,
            clock: systemClock,
          }),
      },
      ...(needs.scrubPassMs > 0 ? [{ role: 'reconciler', start: () => startScrubRole(needs) } as const] : []),
    ],
  }),
});
