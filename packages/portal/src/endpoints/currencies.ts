import { type Endpoint, endpoint } from '@coffer/http';
import { type Environment, environment } from '@coffer/kernel';
import { z } from 'zod';
import { addCurrency, type Currency, currency, hasCurrency, listCurrencies } from '../currencies.ts';
import { reject } from '../errors.ts';
import type { Mints, PortalOptions } from './options.ts';
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
  mints,
}: Pick<PortalOptions, 'pool' | 'directory' | 'transaction' | 'mints'>): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/currencies',
    credential: 'operator',
    summary: 'Add a currency to an app',
    description:
      'A currency never changes. The same currency again answers the same. Each mint is looked at on its chain first; uncheckedMints lists the environments in which this service has none to ask.',
    body: currency,
    success: {
      status: 200,
      schema: currencyBody.extend({ uncheckedMints: z.array(environment).readonly() }),
    },
    errors: ['portal/app_not_found', 'portal/currency_exists', 'portal/mint_not_supported', ...mints.errors],
    handle: async ({ params, body, context }) => {
      const { appId } = await appOf(directory, params.appId);
      const isThere = await hasCurrency(pool, appId, body);
      await mints.ensure(body);
      if (!isThere) await requireMints(body, mints);
      const { replayed } = await transaction(context, (change) => addCurrency(change, appId, body));
      directory.forget(appId);
      return { status: 200, body: { ...body, uncheckedMints: uncheckedMints(body, mints) }, replayed };
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

/** Currencies on a chain, other than its native currency. */
const mintsOf = ({ mint }: Currency): readonly (readonly [Environment, string])[] =>
  environment.options.flatMap((one) => {
    const address = mint[one];
    return address === null || address === 'native' ? [] : [[one, address] as const];
  });

/** A currency never changes, so one that could never be moved is refused. */
async function requireMints(wanted: Currency, mints: Mints): Promise<void> {
  for (const [of, mint] of mintsOf(wanted)) {
    const reason = await mints.checkOn(of)?.(mint, wanted.decimals);
    if (reason !== undefined) {
      throw reject('portal/mint_not_supported', { environment: of, mint, reason });
    }
  }
}

const uncheckedMints = (wanted: Currency, mints: Mints): readonly Environment[] =>
  mintsOf(wanted).flatMap(([of]) => (mints.checkOn(of) ? [] : [of]));
