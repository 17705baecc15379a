/** GET /ledger/reconcile. Source: contract, Ledger. */
import { type Endpoint, endpoint } from '@coffer/http';
import { reject } from './errors.ts';
import type { Reconciler } from './reconciler.ts';
import { type Currencies, reportBodyOf } from './reportBody.ts';
import { reconcileReport } from './schemas.ts';

/** A full run may take a while; whoever needs a longer one asks again. */
const TIMEOUT_MS = 60_000;

/** Between the time a caller waits and its deadline: the answer has to be sent by then. */
const ANSWER_MARGIN_MS = 1_000;

export function reconcileEndpoint(
  reconciler: Pick<Reconciler, 'reconcile'>,
  directory: Currencies,
): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/ledger/reconcile',
    credential: 'sk',
    summary: 'Compare balances, holds, sessions and books with the log',
    description:
      'Goes on from what was verified before, as `verifiedFrom` says. Fails closed: a difference is 409 with each of them named, and what cannot be covered is 503, never a 200.',
    timeoutMs: TIMEOUT_MS,
    success: { status: 200, schema: reconcileReport },
    errors: ['ledger/integrity_failed', 'ledger/coverage_incomplete'],
    handle: async ({ caller, context }) => {
      const { appId, environment } = caller;
      const withinMs = Math.max(0, context.deadlineMs - performance.now() - ANSWER_MARGIN_MS);
      const compared = await reconciler.reconcile({ appId, environment, mode: 'incremental', withinMs });
      const { discrepancies, ...report } = await reportBodyOf(compared, directory);
      if (report.ok) return { status: 200, body: report };
      const { position, checks } = report;
      throw reject('ledger/integrity_failed', { position, checks, discrepancies });
    },
  });
}
