/** Gives the ledger and the operator's admin API the reconciliation. */

import { totalsOfCurrencies } from '@coffer/accounts';
import type { TaskResult } from '@coffer/http';
import type { ReconcileReport } from '@coffer/ledger';
import type { AppDirectory, PortalReconcile } from '@coffer/portal';
import {
  type BooksPlace,
  type ChainReconciler,
  CoverageIncompleteError,
  type Reconciler,
  type Report,
  reconcileErrors,
} from '@coffer/reconcile';
import { ChainUnreachableError, chainErrors } from '@coffer/solana';
import type { Chains } from './chains.ts';
import { chainBodyOf } from './reconcileChain.ts';

/** An operator's run may be over everything. */
const OPERATOR_WITHIN_MS = 60 * 60 * 1000;
/** Between what a caller waits for and its deadline: the answer has to be on its way by then. */
const ANSWER_MARGIN_MS = 1_000;

/** The remedy stands in docs/operating/shortfall.md. */
const HISTORY_NOT_KEPT =
  'No node can tell what is listed under notCovered: they have thrown that part of their history away. Nothing is wrong for that, and nothing proven. Name a node with the whole history beside the others and reconcile again.';

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

export function portalReconcile({
  reconciler,
  chainReconciler,
  directory,
  chains,
}: {
  readonly reconciler: Pick<Reconciler, 'reconcile'>;
  readonly chainReconciler: Pick<ChainReconciler, 'reconcile'>;
  readonly directory: Currencies;
  readonly chains: Pick<Chains, 'of'>;
}): PortalReconcile {
  type Request = Parameters<PortalReconcile['run']>[0];
  type Tell = Parameters<PortalReconcile['run']>[1];

  async function offChain({ appId, environment, mode }: Request, tell: Tell): Promise<TaskResult> {
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
      return incomplete(error);
    }
  }

  async function onChain({ appId, environment, mode }: Request, tell: Tell): Promise<TaskResult> {
    try {
      const report = await chainReconciler.reconcile({
        appId,
        environment,
        mode,
        onProgress: (progress) => tell({ ...progress, of: null }),
      });
      const body = chainBodyOf(report);
      if (report.ok && report.notCovered.length > 0) {
        return { ...body, ...notCovered('ledger/coverage_incomplete', HISTORY_NOT_KEPT, 'history_not_kept') };
      }
      if (report.ok) return { ...body, ok: true };
      const { message } = reconcileErrors['chain/integrity_failed'];
      return { ...body, ok: false, code: 'chain/integrity_failed', message };
    } catch (error) {
      if (!(error instanceof ChainUnreachableError)) return incomplete(error);
      const { message } = chainErrors['chain/unreachable'];
      return notCovered('chain/unreachable', message, error.message);
    }
  }

  return {
    requireChain: (environment) => void chains.of(environment),
    async run(request, tell) {
      const books = await offChain(request, tell);
      if (!request.chain) return books;
      const chain = await onChain(request, tell);
      if (!books.ok || chain.ok) return { ...books, chain };
      const { code, message } = chain;
      return { ...books, chain, ok: false, code, message };
    },
  };
}

/** What could not be covered is told; anything else is thrown on. */
function incomplete(error: unknown): TaskResult {
  if (!(error instanceof CoverageIncompleteError)) throw error;
  return notCovered('ledger/coverage_incomplete', error.message, error.gap);
}

function notCovered(code: string, message: string, reason: string): TaskResult {
  const result = { ok: false, code, message, reason } as const;
  return result;
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
