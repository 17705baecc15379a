/** Gives the ledger and the operator's admin API the reconciliation. */
import type { ReconcileReport } from '@coffer/ledger';
import type { AppDirectory, PortalReconcile } from '@coffer/portal';
import { type BooksPlace, CoverageIncompleteError, type Reconciler, type Report } from '@coffer/reconcile';
import { totalsOfCurrencies } from './totalsOfCurrencies.ts';

/** An operator's run may be over everything. */
const OPERATOR_WITHIN_MS = 60 * 60 * 1000;
/** Between what a caller waits for and its deadline: the answer has to be on its way by then. */
const ANSWER_MARGIN_MS = 1_000;

type Currencies = Pick<AppDirectory, 'currencies'>;

export function ledgerReconcile(reconciler: Pick<Reconciler, 'reconcile'>, directory: Currencies) {
  return async (
    { appId, environment }: BooksPlace,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<ReconcileReport> => {
    const withinMs = Math.max(0, deadlineMs - performance.now() - ANSWER_MARGIN_MS);
    const report = await reconciler.reconcile({ appId, environment, mode: 'incremental', withinMs });
    return bodyOf(report, directory);
  };
}

export function portalReconcile(
  reconciler: Pick<Reconciler, 'reconcile'>,
  directory: Currencies,
): PortalReconcile {
  return async ({ appId, environment, mode }, tell) => {
    try {
      const report = await reconciler.reconcile({
        appId,
        environment,
        mode,
        withinMs: OPERATOR_WITHIN_MS,
        onProgress: ({ done, of }) => tell({ stage: 'deriving the books from the log', done, of }),
      });
      const body = await bodyOf(report, directory);
      if (report.ok) return { ...body, ok: true };
      const message = `${report.discrepancies.length} discrepancies at position ${report.position}.`;
      return { ...body, ok: false, code: 'ledger/integrity_failed', message };
    } catch (error) {
      if (!(error instanceof CoverageIncompleteError)) throw error;
      const { gap, message } = error;
      return { ok: false, code: 'ledger/coverage_incomplete', message, reason: gap };
    }
  };
}

async function bodyOf(
  { appId, totals, ...report }: Report,
  { currencies }: Currencies,
): Promise<ReconcileReport> {
  return {
    ...report,
    checks: [...report.checks],
    inFlight: [...report.inFlight],
    warnings: report.warnings.map((warning) => ({ ...warning, sessions: [...warning.sessions] })),
    totals: totalsOfCurrencies(await currencies(appId), totals),
  };
}
