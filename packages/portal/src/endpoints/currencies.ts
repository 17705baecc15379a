import { type Endpoint, endpoint } from '@coffer/http';
import { z } from 'zod';
import { addCurrency, currency, listCurrencies } from '../currencies.ts';
import type { PortalOptions } from './portalEndpoints.ts';
import { appOf } from './subject.ts';

const currencyBody = z.object({
  id: z.int(),
  code: z.string(),
  decimals: z.int(),
  mint: z.object({ test: z.string().nullable(), live: z.string().nullable() }),
});

export const currencyEndpoints = ({
  pool,
  directory,
  transaction,
  onCurrency,
}: Pick<PortalOptions, 'pool' | 'directory' | 'transaction' | 'onCurrency'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/currencies',
    credential: 'operator',
    summary: 'Add a currency to an app',
    description: 'A currency never changes. The same currency again answers the same.',
    body: currency,
    success: { status: 200, schema: currencyBody },
    errors: ['portal/app_not_found', 'portal/currency_exists'],
    handle: async ({ params, body, context }) => {
      const { appId } = await appOf(directory, params.appId);
      const { replayed } = await transaction(context, (change) => addCurrency(change, appId, body));
      directory.forget(appId);
      await onCurrency(body);
      return { status: 200, body, replayed };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/currencies',
    credential: 'operator',
    summary: 'List the currencies of an app',
    success: { status: 200, schema: z.object({ items: z.array(currencyBody) }) },
    errors: ['portal/app_not_found'],
    handle: async ({ params }) => {
      const { appId } = await appOf(directory, params.appId);
      return { status: 200, body: { items: await listCurrencies(pool, appId) } };
    },
  }),
];
