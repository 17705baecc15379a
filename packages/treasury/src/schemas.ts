/**
 * Requests and answers of the treasury group: money is bigint here and text in requests and bodies. Source:
 * docs/api.md, Treasury.
 */
import {
  addressText,
  encoderOf,
  figure,
  idText,
  longCallerId,
  positiveAmount,
  signedFigure,
} from '@coffer/kernel';
import { z } from 'zod';

const userId = idText('usr').meta({ description: 'The player.' });
const currency = z.int().meta({ description: "The id of one of the app's currencies.", example: 1 });
const ref = longCallerId.meta({
  description:
    'Your id for this move, unique across deposits and withdrawals. A repeat gets the same answer; other content under the same id is refused.',
  example: 'top-up-2026-01-31-7',
});
const amount = positiveAmount.meta({
  description: 'Base units, as a decimal string, at least "1".',
  example: '2500000',
});
export const transferBody = z.strictObject({ userId, currency, amount, ref });
export type TransferRequest = Readonly<z.output<typeof transferBody>>;
export const statusBody = z.strictObject({ ref });
export const balanceBody = z.strictObject({ userId, currency });

export const treasuryBalance = z.object({
  userId,
  currency,
  deposited: figure,
  withdrawn: figure,
  net: signedFigure,
  available: figure,
  held: figure,
  treasury: z.object({
    address: addressText,
    onChain: figure.meta({ description: 'In finalized blocks.' }),
    liabilities: signedFigure.meta({
      description: "All players' available and held funds, pools and referrals in the currency.",
    }),
    inFlight: figure.meta({ description: 'Cash-outs that are signed but not booked yet.' }),
    surplus: signedFigure.meta({ description: 'onChain and inFlight less liabilities.' }),
  }),
});

export type TreasuryBalance = Readonly<z.output<typeof treasuryBalance>>;
export const treasuryBalanceBody = encoderOf(treasuryBalance);
