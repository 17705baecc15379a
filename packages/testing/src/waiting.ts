/** How specs wait for what others bring about: for a condition, with one limit that no machine is too busy for. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Many times what anything takes while ten others want each core; beyond it something is broken. Below the limit of a
 * whole spec in .mocharc.json, so that a wait can say what it waited for, and ends before the spec's world does.
 */
export const PATIENCE_MS = 180_000;
const FIRST_PAUSE_MS = 10;
/** Short enough for what lasts only a moment. */
const LONGEST_PAUSE_MS = 50;

/** A deadline for a command that is to be carried out however busy the machine is. */
export const patiently = (): number => performance.now() + PATIENCE_MS;

/** The first answer that is not undefined. Throws if there is none in time, and says what was known by then. */
export async function eventually<Answer>(
  what: string | (() => string),
  ask: () => Promise<Answer | undefined> | Answer | undefined,
): Promise<Answer> {
  const began = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waitedMs = performance.now() - began;
    if (waitedMs > PATIENCE_MS) {
      throw new Error(`After ${PATIENCE_MS} ms still not: ${typeof what === 'string' ? what : what()}.`);
    }
    // Who asks at the same pace for seconds takes the processor from what is waited for.
    await delay(Math.min(Math.max(FIRST_PAUSE_MS, waitedMs / 10), LONGEST_PAUSE_MS));
  }
}

/** Like `eventually`, for a condition that names itself. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  await eventually(String(condition), async () => (await condition()) || undefined);
}
