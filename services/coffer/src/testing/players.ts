/** Callers that keep playing while the service fails, each repeating unanswered requests. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type AppPlace, requireStatus, textOf } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';

export interface Players {
  /** Answers so far, all successful. */
  readonly answers: () => number;
  readonly answersMoreThan: (count: number) => Promise<unknown>;
  /** Lets each finish its current session. Throws any error that one of them met. */
  readonly stop: () => Promise<void>;
}

/** `thinkMs`: before each request. Without it they take all of the processor for as long as they play. */
export async function startPlayers(place: AppPlace, count: number, thinkMs = 0): Promise<Players> {
  const userIds = await Promise.all(Array.from({ length: count }, () => place.newPlayer('100000')));
  let answers = 0;
  let isOver = false;
  const playing = Promise.all(userIds.map(play));
  // Awaited when they are stopped.
  playing.catch(() => undefined);
  return {
    answers: () => answers,
    answersMoreThan: (wanted) => eventually(`${wanted} answers`, () => answers > wanted || undefined),
    async stop() {
      isOver = true;
      await playing;
    },
  };

  async function play(userId: string): Promise<void> {
    while (!isOver) {
      const opened = await ask('/ledger/sessions', {
        userId,
        gameCode: 'dice',
        currency: 'CHIP',
        lockAmount: '50',
      });
      const sessionId = textOf(opened, 'sessionId');
      for (let round = 0; round < 4; round++) {
        const bet = await ask('/ledger/bet', { sessionId, amount: '5' });
        const betTransactionUuid = textOf(bet, 'transactionUuid');
        if (round % 2 === 0) await ask('/ledger/win', { sessionId, betTransactionUuid, amount: '6' });
        else await ask('/ledger/rollback', { sessionId, betTransactionUuid });
      }
      await ask('/ledger/settle', { sessionId });
    }
  }

  async function ask(path: string, fields: object): Promise<Answer> {
    const body = { ...fields, transactionUuid: randomUUID() };
    await delay(thinkMs);
    const answer = await eventually(`an answer to ${path}`, () => send(path, body));
    answers += 1;
    return requireStatus(answer, path === '/ledger/sessions' ? 201 : 200);
  }

  /** Undefined if nobody answers, or the service itself reports an unknown outcome. */
  async function send(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await place.post(path, body);
      return answer.status === 503 ? undefined : answer;
    } catch (error) {
      // Thrown by fetch when the connection breaks.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }
}
