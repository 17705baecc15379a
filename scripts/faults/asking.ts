/** Requests to services of which one may be about to die. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Client } from '@coffer/host/testing';
import type { Random } from '@coffer/testing';
import type { Scene } from './scene.ts';

const RETRY_MS = 50;

export interface Callers<Asked> {
  readonly asked: readonly Asked[];
  /** Requests without an answer, or with one that does not say what happened. */
  readonly unanswered: () => number;
  /** Lets each finish what it is doing. */
  readonly stop: () => Promise<void>;
}

export interface CallersOptions {
  readonly client: Client;
  readonly scene: Scene;
  readonly random: Random;
  /** Called with what must never happen. */
  readonly complain: (violation: string) => void;
}

/** So many at once, each of which calls again and again until all are stopped. */
export function startCalling(atOnce: number, callOnce: () => Promise<void>) {
  let isOver = false;
  const calling = Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!isOver) await callOnce();
    }),
  );
  // Also reached when they are stopped.
  calling.catch(() => undefined);
  return {
    isOver: () => isOver,
    async stop(): Promise<void> {
      isOver = true;
      await calling;
    },
  };
}

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
