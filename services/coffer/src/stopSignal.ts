/** The signal that ends the service. Source: docs/operating/README.md, When a process dies. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@coffer/http';

/** A terminal, npm and the launcher may each pass on the same Ctrl-C. */
const ONE_PRESS_MS = 500;
/** Between the signals that a supervisor gives to one process after the other, on a busy machine. */
const SAME_SIGNAL_MS = 500;

export interface StopSignal {
  /** Aborted at the first SIGTERM, SIGINT or SIGHUP. */
  readonly signal: AbortSignal;
  /**
   * Whether it has been given, or is a moment later. Whoever ends all processes at once may end what the service needs
   * first, and its own signal is the last event of a turn of the loop.
   */
  readonly isGiven: () => Promise<boolean>;
}

/** Another one, a moment after the first, ends the process at once. */
export function stopSignal(logger: Logger): StopSignal {
  const stopping = new AbortController();
  const { signal } = stopping;
  let firstMs: number | undefined;
  const onSignal = (name: NodeJS.Signals) => {
    const nowMs = performance.now();
    firstMs ??= nowMs;
    if (firstMs === nowMs) {
      logger.info({ signal: name }, 'stopping');
      stopping.abort();
    } else if (nowMs - firstMs > ONE_PRESS_MS) {
      logger.warn({ signal: name }, 'ends at once: the next start takes up what is left running');
      process.exit(130);
    }
  };
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, onSignal);
  return {
    signal,
    async isGiven() {
      await delay(SAME_SIGNAL_MS, undefined, { signal }).catch(() => undefined);
      return signal.aborted;
    },
  };
}
