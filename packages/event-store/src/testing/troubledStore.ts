/** A store in memory whose reads and writes are slow, and whose writes fail or lose their reply, once it is no longer calm. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Rejection } from '@coffer/kernel';
import type { Random } from '@coffer/testing';
import { type EventStore, OutcomeUnknownError, StoreUnreachableError } from '../index.ts';
import { createMemoryEventStore } from '../memory/index.ts';
import { Died } from './mortalStore.ts';

export function createTroubledStore(random: Random) {
  let isCalm = true;
  const happens = (probability: number) => !isCalm && random() < probability;
  const pass = async () => {
    while (happens(0.4)) await nextTurn();
  };
  const memory = createMemoryEventStore({
    async faults() {
      await pass();
      if (happens(0.05)) return 'fail';
      return happens(0.1) ? 'loseReply' : undefined;
    },
  });
  const store: EventStore = {
    ...memory,
    async heads(streams) {
      await pass();
      const heads = await memory.heads(streams);
      await pass();
      return heads;
    },
    async readTails(tails, limit) {
      await pass();
      const events = await memory.readTails(tails, limit);
      await pass();
      return events;
    },
  };
  return {
    store,
    happens,
    get isCalm() {
      return isCalm;
    },
    async calmly<Result>(work: () => Promise<Result>): Promise<Result> {
      const before = isCalm;
      isCalm = true;
      try {
        return await work();
      } finally {
        isCalm = before;
      }
    },
    /** Hands over the steps, several at once. */
    async inTrouble<Step>(
      steps: readonly Step[],
      take: (together: readonly Step[]) => Promise<unknown>,
    ): Promise<void> {
      isCalm = false;
      for (let at = 0; at < steps.length; ) {
        const count = 1 + Math.floor(random() * 8);
        await take(steps.slice(at, at + count));
        at += count;
      }
      isCalm = true;
    },
  };
}

/** A refusal is an answer; a request that died, or whose write has an unknown outcome, gives none. */
export async function answerOf<Body>(
  pending: Promise<Body>,
): Promise<{ readonly code: string; readonly body?: Body }> {
  try {
    return { code: 'accepted', body: await pending };
  } catch (error) {
    if (error instanceof Rejection) return { code: error.code };
    const isPassing = error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError;
    if (isPassing || error instanceof Died) return { code: 'no answer' };
    throw error;
  }
}
