/** GET /ledger/reconcile. Source: contract, Ledger. */
import type { Deadline } from '@coffer/event-store';
import { type AppCaller, type Endpoint, endpoint } from '@coffer/http';
import type { z } from 'zod';
import { reject } from './errors.ts';
import * as schemas from './reconcileSchemas.ts';

export type ReconcileReport = z.input<typeof schemas.reconcileReport> & {
  readonly discrepancies: readonly unknown[];
};

/** A run over all that there is may take a while; what goes on longer is asked for again. */
const TIMEOUT_MS = 60_000;

export function reconcileEndpoint(
  /** Throws `ledger/coverage_incomplete`. */
  reconcile: (
    caller: Pick<AppCaller, 'appId' | 'environment'>,
    context: Deadline,
  ) => Promise<ReconcileReport>,
): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/ledger/reconcile',
    credential: 'sk',
    summary: 'Compare balances, holds, sessions and books with the log',
    description:
      'Goes on from what was verified before, as `verifiedFrom` says. Fails closed: a difference is 409 with each of them named, and what cannot be covered is 503, never a 200.',
    timeoutMs: TIMEOUT_MS,
    success: { status: 200, schema: schemas.reconcileReport },
    errors: ['ledger/integrity_failed', 'ledger/coverage_incomplete'],
    handle: async ({ caller, context }) => {
      const { discrepancies, ...report } = await reconcile(caller, context);
      if (report.ok) return { status: 200, body: report };
      const { position, checks } = report;
      throw reject('ledger/integrity_failed', { position, checks, discrepancies });
    },
  });
}
