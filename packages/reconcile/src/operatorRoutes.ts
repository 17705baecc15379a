/** The reconciliation of an app's books, as requested by an operator. Source: contract, The command line. */
import {
  type Endpoint,
  endpoint,
  longTask,
  type TaskProgress,
  type TaskResult,
  taskLine,
  taskResult,
} from '@coffer/http';
import { type AppDirectory, PLACE_ERRORS, placeOf } from '@coffer/portal';
import { type Chains, ChainUnreachableError, chainErrors } from '@coffer/solana';
import { z } from 'zod';
import { chainBodyOf } from './chain/chainBody.ts';
import type { ChainReconciler } from './chain/chainReconciler.ts';
import { reconcileErrors } from './errors.ts';
import type { Reconciler } from './reconciler.ts';
import { type BooksPlace, CoverageIncompleteError, type Mode } from './report.ts';
import { reportBodyOf } from './reportBody.ts';

/** An operator's run may cover everything. */
const WITHIN_MS = 60 * 60 * 1000;

/** The remedy is in docs/operating/shortfall.md. */
const HISTORY_NOT_KEPT =
  'No node can tell what is listed under notCovered: they have thrown that part of their history away. Nothing is wrong for that, and nothing proven. Name a node with the whole history beside the others and reconcile again.';

export interface OperatorReconcileRoutes {
  readonly directory: AppDirectory;
  readonly reconciler: Pick<Reconciler, 'reconcile'>;
  readonly chainReconciler: Pick<ChainReconciler, 'reconcile'>;
  readonly chains: Pick<Chains, 'of'>;
}

type Request = BooksPlace & { readonly mode: Mode };
type Tell = (progress: TaskProgress) => void;

const reconcileLine = taskLine(
  taskResult([
    'ledger/integrity_failed',
    'ledger/coverage_incomplete',
    'chain/integrity_failed',
    'chain/unreachable',
  ]),
);

export const operatorReconcileEndpoint = (routes: OperatorReconcileRoutes): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/reconcile',
    credential: 'operator',
    summary: "Compare an app's rows and books with the log",
    description:
      'As GET /ledger/reconcile. Full: the books are derived anew, from the first event on, and not from what was derived before. With `chain` also the books against the chain; full: all of it is looked at again.',
    body: z.strictObject({ full: z.boolean().default(false), chain: z.boolean().default(false) }),
    success: { status: 200, lines: true, schema: reconcileLine },
    errors: [...PLACE_ERRORS, 'chain/not_configured'],
    handle: async ({ params, body }) => {
      const place = await placeOf(routes.directory, params);
      const { full, chain } = body;
      if (chain) routes.chains.of(place.environment);
      const { appId, environment } = place;
      const request = { appId, environment, mode: full ? 'full' : 'incremental' } as const;
      return { status: 200, lines: longTask((tell) => run(routes, request, chain, tell)) };
    },
  });

async function run(
  routes: OperatorReconcileRoutes,
  request: Request,
  hasChain: boolean,
  tell: Tell,
): Promise<TaskResult> {
  const books = await withLog(routes, request, tell);
  if (!hasChain) return books;
  const chain = await withChain(routes, request, tell);
  const both = { ...books, chain };
  if (!books.ok || chain.ok) return both;
  const { code, message } = chain;
  return { ...both, ok: false, code, message };
}

async function withLog(
  { reconciler, directory }: OperatorReconcileRoutes,
  request: Request,
  tell: Tell,
): Promise<TaskResult> {
  try {
    const report = await reconciler.reconcile({
      ...request,
      withinMs: WITHIN_MS,
      onProgress: ({ done, of }) => tell({ stage: 'deriving the books from the log', done, of }),
    });
    const body = await reportBodyOf(report, directory);
    if (report.ok) return { ...body, ok: true };
    const message = `${report.discrepancies.length} discrepancies at position ${report.position}.`;
    return { ...body, ok: false, code: 'ledger/integrity_failed', message };
  } catch (error) {
    return incomplete(error);
  }
}

async function withChain(
  { chainReconciler }: OperatorReconcileRoutes,
  request: Request,
  tell: Tell,
): Promise<TaskResult> {
  try {
    const report = await chainReconciler.reconcile({
      ...request,
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

/** Reports what could not be covered; rethrows anything else. */
function incomplete(error: unknown): TaskResult {
  if (!(error instanceof CoverageIncompleteError)) throw error;
  return notCovered('ledger/coverage_incomplete', error.message, error.gap);
}

function notCovered(code: string, message: string, reason: string): TaskResult {
  const result = { ok: false, code, message, reason } as const;
  return result;
}
