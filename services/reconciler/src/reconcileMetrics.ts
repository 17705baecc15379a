/** The result of the last reconciliation of each app's books. */
import type { Registry } from '@coffer/http';
import type { BooksPlace, ChainReport, CoverageGap, Report } from '@coffer/reconcile';
import { Counter, Gauge } from 'prom-client';

export function reconcileMetrics(registry: Registry) {
  const labelNames = ['app', 'environment'] as const;
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers: [registry] });
  const ok = gauge('coffer_reconcile_ok', '1 when the last complete run found nothing wrong.');
  const discrepancies = gauge('coffer_reconcile_discrepancies', 'What it found.');
  const inFlight = gauge('coffer_reconcile_in_flight', 'Decided but not yet on its account when it looked.');
  const warnings = gauge('coffer_reconcile_warnings', 'Allowed, but probably a mistake of the caller.');
  const lastRun = gauge('coffer_reconcile_last_run_seconds', 'When it ended, in seconds since 1970.');
  const duration = gauge('coffer_reconcile_duration_seconds', 'How long it took.');
  const incomplete = new Counter({
    name: 'coffer_reconcile_incomplete_total',
    help: 'Runs that could not cover everything.',
    labelNames: [...labelNames, 'reason'],
    registers: [registry],
  });
  const ofTreasury = (name: string, help: string) =>
    new Gauge({
      name: `coffer_treasury_${name}`,
      help: `${help} In base units.`,
      labelNames: [...labelNames, 'currency'],
      registers: [registry],
    });
  const onChain = ofTreasury('on_chain', 'What the treasury holds in finalized blocks.');
  const liabilities = ofTreasury('liabilities', 'What is owed to players and earners.');
  const treasuryInFlight = ofTreasury('in_flight', 'Cash-outs that may have left and are still owed.');
  const surplus = ofTreasury('surplus', 'On chain and in flight, less liabilities.');
  const shortfall = ofTreasury('shortfall', 'What is missing; 0 if nothing is.');
  const chainOk = gauge('coffer_reconcile_chain_ok', '1 when the chain agreed with the books.');
  const chainDiscrepancies = gauge(
    'coffer_reconcile_chain_discrepancies',
    'Moves and transfers on which the chain and the books disagree.',
  );
  const chainLastRun = gauge(
    'coffer_reconcile_chain_last_run_seconds',
    'When the books were last compared with the chain, in seconds since 1970.',
  );
  const chainIncomplete = new Counter({
    name: 'coffer_reconcile_chain_incomplete_total',
    help: 'Runs against the chain that could not cover everything.',
    labelNames: [...labelNames, 'reason'],
    registers: [registry],
  });
  const labelsOf = ({ appId, environment }: BooksPlace) => ({ app: appId, environment });

  return {
    reported(report: Report, { seconds, at }: { readonly seconds: number; readonly at: Date }): void {
      const labels = labelsOf(report);
      ok.set(labels, Number(report.ok));
      discrepancies.set(labels, report.discrepancies.length);
      inFlight.set(labels, report.inFlight.length);
      warnings.set(labels, report.warnings.length);
      lastRun.set(labels, at.getTime() / 1000);
      duration.set(labels, seconds);
    },
    incomplete(place: BooksPlace, reason: CoverageGap): void {
      incomplete.inc({ ...labelsOf(place), reason });
    },
    reportedChain(report: ChainReport, at: Date): void {
      const labels = labelsOf(report);
      chainOk.set(labels, Number(report.ok));
      chainDiscrepancies.set(labels, report.discrepancies.length);
      chainLastRun.set(labels, at.getTime() / 1000);
      for (const { code: currency, ...figures } of report.currencies) {
        const ofCurrency = { ...labels, currency };
        onChain.set(ofCurrency, Number(figures.onChain));
        liabilities.set(ofCurrency, Number(figures.liabilities));
        treasuryInFlight.set(ofCurrency, Number(figures.inFlight));
        surplus.set(ofCurrency, Number(figures.surplus));
        shortfall.set(ofCurrency, Number(figures.shortfall));
      }
    },
    incompleteChain(place: BooksPlace, reason: CoverageGap | 'chain_unreachable' | 'history_not_kept'): void {
      chainIncomplete.inc({ ...labelsOf(place), reason });
    },
  };
}
