/** A chain report as an API response. */
import { encoderOf, figure, signedFigure } from '@coffer/kernel';
import { z } from 'zod';
import type { ChainReport } from './chainReport.ts';

const text = z.string();
const encoded = encoderOf(
  z.object({
    checkedAt: text,
    mode: text,
    treasury: text.nullable(),
    currencies: z.array(
      z.object({
        currency: text,
        ok: z.boolean(),
        onChain: figure,
        liabilities: signedFigure,
        inFlight: figure,
        surplus: signedFigure,
      }),
    ),
    checks: z.array(z.unknown()),
    warnings: z.array(z.object({ code: text, subject: text, amount: figure.nullable() })),
    unattributed: z.array(z.object({ signature: text, currency: text, amount: figure })),
    notCovered: z.array(z.object({ subject: text, signature: text.nullable(), slot: figure.nullable() })),
    discrepancies: z.array(z.unknown()),
  }),
);

/** Missing money is a warning with its figure. */
export function chainBodyOf(report: ChainReport) {
  const { currencies, unattributed, unreadable } = report;
  const codes = new Map(currencies.map(({ mint, code }) => [mint, code]));
  return encoded({
    ...report,
    currencies: currencies.map((one) => ({ ...one, currency: one.code, ok: one.shortfall === 0n })),
    warnings: [
      ...currencies
        .filter(({ shortfall }) => shortfall > 0n)
        .map(({ code, shortfall }) => ({ code: 'treasury_shortfall', subject: code, amount: shortfall })),
      ...unreadable.map((subject) => ({ code: 'transaction_unreadable', subject, amount: null })),
    ],
    unattributed: unattributed.map((one) => ({ ...one, currency: codes.get(one.mint) ?? one.mint })),
  });
}
