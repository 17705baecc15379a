/** A chain report as an API response. */
import type { ChainReport } from './chainReport.ts';

/** The report as answered: amounts are text, and missing money is a warning with its figure. */
export function chainBodyOf(report: ChainReport) {
  const { checkedAt, mode, treasury, currencies, checks, unattributed, unreadable } = report;
  const { notCovered, discrepancies } = report;
  const codes = new Map(currencies.map(({ mint, code }) => [mint, code]));
  return {
    checkedAt,
    mode,
    treasury,
    currencies: currencies.map(({ code, onChain, liabilities, inFlight, surplus, shortfall }) => ({
      currency: code,
      ok: shortfall === 0n,
      onChain: onChain.toString(),
      liabilities: liabilities.toString(),
      inFlight: inFlight.toString(),
      surplus: surplus.toString(),
    })),
    checks,
    warnings: [
      ...currencies
        .filter(({ shortfall }) => shortfall > 0n)
        .map(({ code, shortfall }) => ({
          code: 'treasury_shortfall',
          subject: code,
          amount: shortfall.toString(),
        })),
      ...unreadable.map((signature) => ({
        code: 'transaction_unreadable',
        subject: signature,
        amount: null,
      })),
    ],
    unattributed: unattributed.map(({ signature, mint, amount }) => ({
      signature,
      currency: codes.get(mint) ?? mint,
      amount: amount.toString(),
    })),
    notCovered: notCovered.map(({ subject, signature, slot }) => {
      return { subject, signature, slot: slot?.toString() ?? null };
    }),
    discrepancies,
  };
}
