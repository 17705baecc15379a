/** What came of the last reconciliation of each app's books. */
import type { Registry } from '@coffer/http';
import type { BooksPlace, CoverageGap, Report } from '@coffer/reconcile';
import { Counter, Gauge } from 'prom-client';

export function reconcileMetrics(registry: Registry) {
  const labelNames = ['app', 'environment'] as const;
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers: [registry] });
  const ok = gauge('coffer_reconcile_ok', '1 when the last complete run found nothing wrong.');
  const discrepancies = gauge('coffer_reconcile_discrepancies', 'What it found.');
  const inFlight = gauge('coffer_reconcile_in_flight', 'Decided and not yet on its account when it looked.');
  const warnings = gauge('coffer_reconcile_warnings', 'Allowed, and yet probably a mistake of the caller.');
  const lastRun = gauge('coffer_reconcile_last_run_seconds', 'When it ended, in seconds since 1970.');
  const duration = gauge('coffer_reconcile_duration_seconds', 'How long it took.');
  const incomplete = new Counter({
    name: 'coffer_reconcile_incomplete_total',
    help: 'Runs that could not cover everything.',
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
  };
}
