/** The currencies of an app. A currency never changes once created. Source: contract, Apps, keys, currencies. */
import type { Queryable } from '@coffer/database';
import { currencyCode, mintText } from '@coffer/kernel';
import { z } from 'zod';
import type { AdminChange } from './adminActions.ts';
import { reject } from './errors.ts';

const MAX_CURRENCY_ID = 2 ** 31 - 1;
const NATIVE_DECIMALS = 9;
/** An amount is at most 2^64 - 1, which is 20 digits. */
const MAX_DECIMALS = 19;

const mintAddress = mintText.nullable().default(null);

export const currency = z
  .strictObject({
    id: z.int().min(1).max(MAX_CURRENCY_ID),
    code: currencyCode.regex(/^[A-Z][A-Z0-9_]{1,15}$/, 'must be 2 to 16 of A-Z, 0-9 and "_", a letter first'),
    decimals: z.int().min(0).max(MAX_DECIMALS),
    /** Null (or omitted) if the currency is not on that chain. */
    mint: z.strictObject({ test: mintAddress, live: mintAddress }).default({ test: null, live: null }),
  })
  .refine(
    ({ mint, decimals }) =>
      decimals === NATIVE_DECIMALS || (mint.test !== 'native' && mint.live !== 'native'),
    { path: ['decimals'], message: `must be ${NATIVE_DECIMALS} for the native currency` },
  )
  .meta({
    example: { id: 3, code: 'GEM', decimals: NATIVE_DECIMALS, mint: { test: 'native', live: null } },
  });

export type Currency = Readonly<z.output<typeof currency>>;

/** By id. */
export async function listCurrencies(queryable: Queryable, appId: string): Promise<readonly Currency[]> {
  const { rows } = await queryable.query<Currency>(
    `select currency_id as id, code, decimals, json_build_object('test', test_mint, 'live', live_mint) as mint
       from records.currencies where app_id = $1 order by currency_id`,
    [appId],
  );
  return rows;
}

/** Whether the app already has this exact currency. Throws `portal/currency_exists` if it has a conflicting one. */
export async function hasCurrency(queryable: Queryable, appId: string, wanted: Currency): Promise<boolean> {
  const all = await listCurrencies(queryable, appId);
  const existing = all.filter(({ id, code }) => id === wanted.id || code === wanted.code);
  if (existing.length === 0) return false;
  if (existing.length === 1 && existing[0] && isSame(existing[0], wanted)) return true;
  throw reject('portal/currency_exists', { existing });
}

/** The same currency again returns the same answer. Throws `portal/currency_exists`. */
export async function addCurrency(
  change: AdminChange,
  appId: string,
  wanted: Currency,
): Promise<{ readonly replayed: boolean }> {
  const { rowCount } = await change.client.query(
    `insert into records.currencies (app_id, currency_id, code, decimals, test_mint, live_mint, created_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [appId, wanted.id, wanted.code, wanted.decimals, wanted.mint.test, wanted.mint.live, change.at],
  );
  if (rowCount === 1) {
    await change.record('currencies.add', appId, { currency: wanted });
    return { replayed: false };
  }

  return { replayed: await hasCurrency(change.client, appId, wanted) };
}

const isSame = (one: Currency, other: Currency): boolean =>
  one.id === other.id &&
  one.code === other.code &&
  one.decimals === other.decimals &&
  one.mint.test === other.mint.test &&
  one.mint.live === other.mint.live;
