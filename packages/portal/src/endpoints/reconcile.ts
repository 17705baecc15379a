/** The reconciliation of an app's books, as an operator asks for it. Source: contract, The command line. */
import {
  type Endpoint,
  endpoint,
  longTask,
  type TaskProgress,
  type TaskResult,
  taskLine,
  taskResult,
} from '@coffer/http';
import type { AppPlace } from '@coffer/kernel';
import { z } from 'zod';
import type { PortalOptions } from './portalEndpoints.ts';
import { PLACE_ERRORS, placeOf } from './subject.ts';

/** What the portal needs of the reconciler: the report, which says by a code what is wrong. */
export interface PortalReconcile {
  readonly run: (
    request: AppPlace & {
      readonly mode: 'full' | 'incremental';
      /** Also the books against the chain. */
      readonly chain: boolean;
    },
    report: (progress: TaskProgress) => void,
  ) => Promise<TaskResult>;
  /** Throws `chain/not_configured`. */
  readonly requireChain: (environment: AppPlace['environment']) => void;
}

const reconcileLine = taskLine(
  taskResult([
    'ledger/integrity_failed',
    'ledger/coverage_incomplete',
    'chain/integrity_failed',
    'chain/unreachable',
  ]),
);

export const reconcileEndpoints = ({
  directory,
  reconcile,
}: Pick<PortalOptions, 'directory' | 'reconcile'>): readonly Endpoint[] => [
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
      const place = await placeOf(directory, params);
      const { full, chain } = body;
      if (chain) reconcile.requireChain(place.environment);
      const mode = full ? 'full' : 'incremental';
      return { status: 200, lines: longTask((report) => reconcile.run({ ...place, mode, chain }, report)) };
    },
  }),
];
