/** The books of an app in an answer: one item for each of its currencies. */
import { encoderOf, signedFigure as figure } from '@coffer/kernel';
import type { Currency } from '@coffer/portal';
import type { TrialBalance } from '@coffer/read-models';
import { z } from 'zod';

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

const EMPTY = {
  available: 0n,
  held: 0n,
  pools: 0n,
  house: 0n,
  referrals: 0n,
  external: 0n,
  adjustments: 0n,
};
const totalsBody = encoderOf(currencyTotals);

/** A currency in which nothing has happened has books, too; they are empty. */
export function totalsOfCurrencies(currencies: readonly Currency[], balances: readonly TrialBalance[]) {
  return currencies.map(({ id, code }) => {
    const balance = balances.find(({ currencyId }) => currencyId === id);
    return totalsBody({ ...EMPTY, ...balance, currency: code });
  });
}
