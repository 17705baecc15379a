import { setTimeout as delay } from 'node:timers/promises';

/** Ends a pause. */
export interface Bell {
  readonly ring: () => void;
  /** Forgets that it was rung. */
  readonly silence: () => void;
  /** Once it is rung, also if it was before, or after so long. */
  readonly rung: (withinMs: number) => Promise<void>;
}

export function createBell(): Bell {
  let isRung = false;
  let wake: () => void = () => undefined;
  return {
    ring() {
      if (isRung) return;
      isRung = true;
      wake();
    },
    silence() {
      isRung = false;
    },
    async rung(withinMs) {
      if (isRung) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}

const SHORTEST_ROUND_MS = 10;
const TROUBLE_PAUSE_MS = 1_000;

interface Repetition {
  readonly isOver: () => boolean;
  /** Ends the pause between two rounds. */
  readonly bell: Bell;
  readonly pauseMs: number;
  readonly onTrouble: (error: unknown) => void;
}

/** Again and again, with a longer pause after trouble. */
export async function repeat(
  round: () => Promise<void>,
  { isOver, bell, pauseMs, onTrouble }: Repetition,
): Promise<void> {
  while (!isOver()) {
    const begunMs = performance.now();
    bell.silence();
    try {
      await round();
      await bell.rung(pauseMs);
      // What comes one by one is dealt with together.
      if (!isOver()) await delay(Math.max(0, begunMs + SHORTEST_ROUND_MS - performance.now()));
    } catch (error) {
      onTrouble(error);
      bell.silence();
      if (!isOver()) await bell.rung(TROUBLE_PAUSE_MS);
    }
  }
}
