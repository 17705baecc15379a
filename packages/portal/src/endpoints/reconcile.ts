/** The reconciliation of an app's books, as an operator asks for it. Source: contract, The command line. */
import { type Endpoint, endpoint, longTask, type TaskProgress, type TaskResult } from '@coffer/http';
import { z } from 'zod';
import type { PortalOptions } from './portalEndpoints.ts';
import { type AppPlace, placeOf } from './subject.ts';

/** What the portal needs of the reconciler: the report, which says by a code what is wrong. */
export type PortalReconcile = (
  request: AppPlace & { readonly mode: 'full' | 'incremental' },
  report: (progress: TaskProgress) => void,
) => Promise<TaskResult>;

export const reconcileEndpoints = ({
  directory,
  reconcile,
}: Pick<PortalOptions, 'directory' | 'reconcile'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/:environment/reconcile',
    credential: 'operator',
    summary: "Compare an app's rows and books with the log",
    description: 'As GET /ledger/reconcile. Full: everything is derived anew, from the first event on.',
    body: z.strictObject({ full: z.boolean().default(false) }),
    success: { status: 200, lines: true },
    errors: ['portal/app_not_found', 'portal/environment_not_found'],
    handle: async ({ params, body }) => {
      const place = await placeOf(directory, params);
      const mode = body.full ? 'full' : 'incremental';
      return { status: 200, lines: longTask((report) => reconcile({ ...place, mode }, report)) };
    },
  }),
];
