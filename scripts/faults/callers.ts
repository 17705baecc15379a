/**
 * Callers that deposit and withdraw at random, like a game server: each repeats unanswered requests under the
 * same ref, some send a request twice at once, and some send other content under the same ref.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Callers, type CallersOptions, createAsking, oneOf, startCalling } from './asking.ts';
import type { Currency, User } from './scene.ts';

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
  /**
   * A deposit that was refused by what the chain says, after a request without an answer: what a dead service sent to the log
   * may still arrive there. A withdrawal never is: its account decides, and would have decided the same again.
   */
  isUncertain: boolean;
  /** From the status, once the move has ended. */
  ended: 'confirmed' | 'failed' | undefined;
}

const SHARE = { deposits: 0.55, large: 0.1, twiceAtOnce: 0.25, otherContent: 0.15 };
const LOOK_MS = 300;

export function startCallers({
  client,
  scene,
  random,
  atOnce,
  complain,
}: CallersOptions & { readonly atOnce: number }): Callers<Asked> {
  const asked: Asked[] = [];
  const { ask, untilAnswered, unanswered } = createAsking(client, scene.secretKey);
  const calling = startCalling(atOnce, call);
  return { asked, unanswered, stop: calling.stop };

  async function call(): Promise<void> {
    const user = oneOf(scene.users, random);
    const currency = oneOf(scene.currencies, random);
    const kind = random() < SHARE.deposits ? 'deposit' : 'withdraw';
    // Two large ones at once exceed the funds: the second may fail on the chain.
    const [size, count] = random() < SHARE.large ? (['large', 2] as const) : (['usual', 1] as const);
    const requests = Array.from({ length: count }, () => newRequest(kind, user, currency, size));
    await Promise.all(requests.map(carry));
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
    const request: Asked = { ...one, isUncertain: false, ended: undefined };
    asked.push(request);
    return request;
  }

  /** Repeats until the outcome is known. */
  async function request(one: Asked): Promise<void> {
    const [path, body] = [pathOf(one), bodyOf(one, one.amount)];
    const first = await ask(path, body);
    const answer = first ?? (await untilAnswered(path, body));
    if (answer.status === (one.kind === 'deposit' ? 201 : 200)) {
      one.accepted ??= answer.text;
      if (answer.text !== one.accepted) {
        complain(`${one.ref} was answered ${one.accepted} and then ${answer.text}`);
      }
    } else if (answer.status === 409) {
      one.refused = String(answer.json.code);
      one.isUncertain ||= !first && one.kind === 'deposit';
    } else complain(`${one.ref} was answered ${answer.status} ${answer.text}`);
  }

  async function requestOtherwise(one: Asked): Promise<void> {
    const { status, json, text } = await untilAnswered(pathOf(one), bodyOf(one, one.amount + 1n));
    if (status !== 409 || json.code !== 'treasury/idempotency_conflict') {
      complain(`${one.ref} with another amount was answered ${status} ${text}`);
    }
  }

  /** Waits for the end, so that no more moves are under way than planned. */
  async function follow(one: Asked): Promise<void> {
    while (!calling.isOver()) {
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
}

const pathOf = ({ kind }: Asked): string => `/treasury/${kind}`;

const bodyOf = ({ ref, user, currency }: Asked, amount: bigint): object => ({
  userId: user.userId,
  currency: currency.id,
  amount: amount.toString(),
  ref,
});
