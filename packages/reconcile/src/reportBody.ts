/** A report as an API response, with the totals of each currency. */
import { totalsOfCurrencies } from '@coffer/accounts';
import type { AppDirectory } from '@coffer/portal';
import type { Report } from './report.ts';

export type Currencies = Pick<AppDirectory, 'currencies'>;

export async function reportBodyOf({ appId, totals, ...report }: Report, { currencies }: Currencies) {
  return {
    ...report,
    checks: [...report.checks],
    inFlight: [...report.inFlight],
    warnings: report.warnings.map((warning) => ({ ...warning, sessions: [...warning.sessions] })),
    totals: totalsOfCurrencies(await currencies(appId), totals),
  };
}
