/**
 * Scrubs the log and the books in the background, and reports its progress and findings by log and metrics.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Registry } from '@coffer/http';
import { type Scrubber, type ScrubState, scrubProgress } from '@coffer/reconcile';
import { Gauge } from 'prom-client';

export interface ScrubRoleOptions {
  readonly scrubber: Scrubber;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** How often to look at what other processes do. */
const LOOK_MS = 15_000;
const SHORTEST_MS = 5;

export function startScrubRole({ scrubber, registry, logger }: ScrubRoleOptions): {
  readonly stop: () => Promise<void>;
} {
  const show = scrubMetrics(registry);
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let waitMs = LOOK_MS;
      try {
        const change = await scrubber.turn(signal);
        if (change) tell(change.before, change.after);
        const looked = await scrubber.look();
        if (looked.state) show(looked.state);
        waitMs = Math.min(looked.waitMs, LOOK_MS);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, 'the scrub is in trouble and will try again');
      }
      // A signal ends the pause, and then the loop.
      await delay(Math.max(waitMs, SHORTEST_MS), undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Logs once, however many faults there are and however long they last; the metrics show them until they are
   * repaired.
   */
  function tell(before: ScrubState | undefined, { alarm, lastPass }: ScrubState): void {
    if (alarm && !before?.alarm) {
      const [first] = alarm.findings.first;
      const faults = alarm.findings.count;
      logger.error({ faults, ...first }, `the scrub has found a fault: ${first?.check}: ${first?.subject}`);
    }
    if (!alarm && before?.alarm) {
      const { since } = before.alarm;
      logger.info(
        { since, pass: lastPass },
        'the scrub has gone over everything and finds no fault any more',
      );
    }
  }
}

function scrubMetrics(registry: Registry): (state: ScrubState) => void {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `coffer_scrub_${name}`, help, registers: [registry] });
  const faults = gauge('faults', 'Faults of the log or the books; 0 once a whole pass finds none.');
  const progress = gauge('progress_ratio', 'How much of the current pass is done, from 0 to 1.');
  const begun = gauge('pass_begun_seconds', 'When the current pass began, in seconds since 1970.');
  const ended = gauge('last_pass_seconds', 'When the last whole pass ended, in seconds since 1970.');
  const lasted = gauge('last_pass_duration_seconds', 'How long it took.');
  return (state) => {
    const { pass, lastPass, alarm } = state;
    faults.set(alarm?.findings.count ?? 0);
    progress.set(scrubProgress(state) ?? 0);
    if (pass) begun.set(Date.parse(pass.begunAt) / 1000);
    if (!lastPass) return;
    ended.set(Date.parse(lastPass.endedAt) / 1000);
    lasted.set(lastPass.seconds);
  };
}
