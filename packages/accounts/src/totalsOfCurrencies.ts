/** The books of an app as they are answered: one item for each of its currencies. */
import { signedFigureText } from '@coffer/kernel';
import type { Currency } from '@coffer/portal';
import type { BookAccount, TrialBalance } from '@coffer/read-models';
import { z } from 'zod';

const figure = signedFigureText;

/** The trial balance of one currency, as it is answered. */
export const currencyTotals = z.object({
  currency: z.string(),
  available: figure,
  held: figure,
  pools: figure,
  house: figure,
  referrals: figure,
  external: figure,
  adjustments: figure,
});

/** A currency in which nothing has happened has books, too: they are empty. */
export function totalsOfCurrencies(currencies: readonly Currency[], balances: readonly TrialBalance[]) {
  return currencies.map(({ id, code }) => {
    const balance = balances.find(({ currencyId }) => currencyId === id);
    const figure = (account: BookAccount) => (balance?.[account] ?? 0n).toString();
    return {
      currency: code,
      available: figure('available'),
      held: figure('held'),
      pools: figure('pools'),
      house: figure('house'),
      referrals: figure('referrals'),
      external: figure('external'),
      adjustments: figure('adjustments'),
    };
  });
}
