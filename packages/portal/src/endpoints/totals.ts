/** The books of an app as a whole, now or as they were. */

import { type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import type { AppPlace } from '@coffer/kernel';
import { signedFigureText } from '@coffer/kernel';
import { z } from 'zod';
import { momentOf, type PastMoment, pastMoment } from './pastMoment.ts';
import type { PortalOptions } from './portalEndpoints.ts';
import { placeOf } from './subject.ts';

const figure = signedFigureText;
const totalsBody = z.object({
  /** How many events of the log the figures come from. */
  ordinal: z.int(),
  items: z.array(
    z.object({
      currency: z.string(),
      available: figure,
      held: figure,
      pools: figure,
      house: figure,
      referrals: figure,
      external: figure,
      adjustments: figure,
    }),
  ),
});

/** What the portal needs of the books; now when `at` is undefined. Throws `request/invalid` on no moment of this log. */
export type PortalTotals = (
  request: AppPlace & { readonly at: PastMoment | undefined },
  context: RequestContext,
) => Promise<z.input<typeof totalsBody>>;

export const totalsEndpoints = ({
  directory,
  totals,
}: Pick<PortalOptions, 'directory' | 'totals'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/totals',
    credential: 'operator',
    summary: "The trial balance of an app's books, now or as it was",
    description: 'By currency, the seven accounts of the books: they sum to zero.',
    query: z.strictObject({ at: pastMoment.optional() }),
    success: { status: 200, schema: totalsBody },
    errors: ['portal/app_not_found', 'portal/environment_not_found', 'portal/read_models_behind'],
    handle: async ({ params, query, context }) => {
      const place = await placeOf(directory, params);
      return { status: 200, body: await totals({ ...place, at: momentOf(query.at) }, context) };
    },
  }),
];
