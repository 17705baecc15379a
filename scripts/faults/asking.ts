/** Requests to services of which one may be about to die. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Client } from '@coffer/host/testing';
import type { Random } from '@coffer/testing';

const RETRY_MS = 50;

export function createAsking(client: Client, key: string) {
  let unanswered = 0;
  return { ask, untilAnswered, unanswered: () => unanswered };

  /** Undefined if nobody answers, or if the service says that it does not know. */
  async function ask(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await client.post(path, body, { key });
      if (answer.status !== 503) return answer;
    } catch (error) {
      // fetch throws this when the connection breaks.
      if (!(error instanceof TypeError)) throw error;
    }
    unanswered += 1;
    return undefined;
  }

  async function untilAnswered(path: string, body: object): Promise<Answer> {
    for (;;) {
      const answer = await ask(path, body);
      if (answer) return answer;
      await delay(RETRY_MS);
    }
  }
}

export function oneOf<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is none to choose from.');
  return item;
}
