/**
 * Callers that deposit and withdraw at random, like a game server: each repeats unanswered requests under the
 * same ref, some send a request twice at once, and some send other content under the same ref.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Client } from '@coffer/host/testing';
import type { Random } from '@coffer/testing';
import type { Currency, Scene, User } from './scene.ts';

/** What was requested under one ref, and what became of it. */
export interface Asked {
  readonly ref: string;
  readonly kind: 'deposit' | 'withdraw';
  readonly user: User;
  readonly currency: Currency;
  readonly amount: bigint;
  /** The bytes of the answer, once it was accepted. */
  accepted: string | undefined;
  /** The code, if it was refused. */
  refused: string | undefined;
  /** From the status, once the move has ended. */
  ended: 'confirmed' | 'failed' | undefined;
}

const SHARE = { deposits: 0.55, large: 0.1, twiceAtOnce: 0.25, otherContent: 0.15 };
const RETRY_MS = 50;
const LOOK_MS = 300;

export interface Callers {
  readonly asked: readonly Asked[];
  /** Requests without an answer, or with one that does not say what happened. */
  readonly unanswered: () => number;
  /** Lets each finish what it is doing. */
  readonly stop: () => Promise<void>;
}

export function startCallers({
  client,
  scene,
  random,
  atOnce,
  complain,
}: {
  readonly client: Client;
  readonly scene: Scene;
  readonly random: Random;
  readonly atOnce: number;
  /** Called with what must never happen. */
  readonly complain: (violation: string) => void;
}): Callers {
  const asked: Asked[] = [];
  let unanswered = 0;
  let isOver = false;
  const calling = Promise.all(Array.from({ length: atOnce }, callUntilOver));
  // Also reached when they are stopped.
  calling.catch(() => undefined);

  return {
    asked,
    unanswered: () => unanswered,
    async stop() {
      isOver = true;
      await calling;
    },
  };

  async function callUntilOver(): Promise<void> {
    while (!isOver) {
      const user = oneOf(scene.users);
      const currency = oneOf(scene.currencies);
      const kind = random() < SHARE.deposits ? 'deposit' : 'withdraw';
      // Two large ones at once exceed the funds: the second may fail on the chain.
      const [size, count] = random() < SHARE.large ? (['large', 2] as const) : (['usual', 1] as const);
      const requests = Array.from({ length: count }, () => newRequest(kind, user, currency, size));
      await Promise.all(requests.map(carry));
    }
  }

  async function carry(one: Asked): Promise<void> {
    const times = random() < SHARE.twiceAtOnce ? 2 + Math.floor(random() * 2) : 1;
    await Promise.all(Array.from({ length: times }, () => request(one)));
    if (one.accepted === undefined) return;
    if (random() < SHARE.otherContent) await requestOtherwise(one);
    await follow(one);
  }

  function newRequest(
    kind: Asked['kind'],
    user: User,
    currency: Currency,
    size: keyof Currency['amounts'],
  ): Asked {
    // Nothing below what the chain requires of a new account.
    const share = size === 'large' ? 0.7 + random() * 0.3 : random();
    const amount = BigInt(900_000 + Math.floor(share * currency.amounts[size]));
    const ref = `${kind}-${asked.length + 1}`;
    const one = { ref, kind, user, currency, amount, accepted: undefined, refused: undefined };
    const request: Asked = { ...one, ended: undefined };
    asked.push(request);
    return request;
  }

  /** Repeats until the outcome is known. */
  async function request(one: Asked): Promise<void> {
    const answer = await untilAnswered(() => send(one, one.amount));
    if (answer.status === (one.kind === 'deposit' ? 201 : 200)) {
      one.accepted ??= answer.text;
      if (answer.text !== one.accepted) {
        complain(`${one.ref} was answered ${one.accepted} and then ${answer.text}`);
      }
    } else if (answer.status === 409) one.refused = String(answer.json.code);
    else complain(`${one.ref} was answered ${answer.status} ${answer.text}`);
  }

  async function requestOtherwise(one: Asked): Promise<void> {
    const { status, json, text } = await untilAnswered(() => send(one, one.amount + 1n));
    if (status !== 409 || json.code !== 'treasury/idempotency_conflict') {
      complain(`${one.ref} with another amount was answered ${status} ${text}`);
    }
  }

  function send({ kind, ref, user, currency }: Asked, amount: bigint): Promise<Answer | undefined> {
    const body = { userId: user.userId, currency: currency.id, amount: amount.toString(), ref };
    return ask(`/treasury/${kind}`, body);
  }

  /** Waits for the end, so that no more moves are under way than planned. */
  async function follow(one: Asked): Promise<void> {
    while (!isOver) {
      const answer = await ask('/treasury/status', { ref: one.ref });
      const { status } = answer?.json ?? {};
      if (answer && answer.status !== 200) complain(`the status of ${one.ref}: ${answer.text}`);
      if (status === 'confirmed' || status === 'failed') {
        one.ended = status;
        return;
      }
      await delay(LOOK_MS);
    }
  }

  async function untilAnswered(again: () => Promise<Answer | undefined>): Promise<Answer> {
    for (;;) {
      const answer = await again();
      if (answer) return answer;
      await delay(RETRY_MS);
    }
  }

  /** Undefined if nobody answers, or if the service says that it does not know. */
  async function ask(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await client.post(path, body, { key: scene.secretKey });
      if (answer.status !== 503) return answer;
    } catch (error) {
      // fetch throws this when the connection breaks.
      if (!(error instanceof TypeError)) throw error;
    }
    unanswered += 1;
    return undefined;
  }

  function oneOf<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error('There is none to choose from.');
    return item;
  }
}
