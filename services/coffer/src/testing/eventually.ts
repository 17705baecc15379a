/** Awaits a condition that other processes bring about. */
import { setTimeout as delay } from 'node:timers/promises';

const ASK_EVERY_MS = 10;

/** The first answer that is not undefined. Throws when there is none in time: then something is broken. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | undefined> | Answer | undefined,
  limitMs = 20_000,
): Promise<Answer> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`After ${limitMs} ms still not: ${what}.`);
    await delay(ASK_EVERY_MS);
  }
}
