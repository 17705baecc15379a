/**
 * Callers that pay out, distribute and withdraw commissions at random, in a currency that is not on the chain. Each
 * repeats what was not answered or, at times, gives up, so that nobody but the service finishes it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, requireStatus, textOf } from '@coffer/host/testing';
import { type Callers, type CallersOptions, createAsking, oneOf, startCalling } from './asking.ts';
import type { Scene, User } from './scene.ts';

export const CHIP = 2;
const SHARE = { twiceAtOnce: 0.25, otherContent: 0.15, givenUp: 0.7, all: 0.5 };
const CALLERS = 3;
const PAUSE_MS = 250;
const KINDS = ['payout', 'distribute', 'distribute', 'withdraw', 'withdraw'] as const;

/** What was requested under one key, and what became of it. */
export interface AskedCommission {
  readonly kind: (typeof KINDS)[number];
  readonly idemKey: string;
  readonly user: User;
  /** Undefined: everything there is. */
  readonly amount: bigint | undefined;
  readonly levels: readonly number[] | undefined;
  /** The bytes of the answer, once it was accepted. */
  accepted: string | undefined;
  /** A request was not answered, and nobody repeated it, or the repeat was refused. */
  isUncertain: boolean;
}

/** Each user but the last was brought by the next one. */
export async function bringUsers(client: Client, { users, secretKey: key }: Scene): Promise<void> {
  for (const [index, { userId }] of users.slice(0, -1).entries()) {
    const by = await client.post('/referrals/code', { userId: users[index + 1]?.userId }, { key });
    const attribution = { userId, code: textOf(by, 'code') };
    requireStatus(await client.post('/referrals/attribute', attribution, { key }), 200);
  }
}

export function startCommissionCallers({
  client,
  scene,
  random,
  complain,
}: CallersOptions): Callers<AskedCommission> {
  const { ask, untilAnswered, unanswered } = createAsking(client, scene.secretKey);
  const asked: AskedCommission[] = [];
  const { stop } = startCalling(CALLERS, async () => {
    await carry(newRequest());
    await delay(PAUSE_MS);
  });
  return { asked, unanswered, stop };

  function newRequest(): AskedCommission {
    const kind = oneOf(KINDS, random);
    const amount = 1n + BigInt(Math.floor(random() * 9_999));
    const one: AskedCommission = {
      kind,
      idemKey: `commission-${asked.length + 1}`,
      user: oneOf(scene.users, random),
      amount: kind === 'withdraw' && random() < SHARE.all ? undefined : amount,
      levels: kind === 'distribute' ? [3_333, 1_000, 500, 1] : undefined,
      accepted: undefined,
      isUncertain: false,
    };
    asked.push(one);
    return one;
  }

  async function carry(one: AskedCommission): Promise<void> {
    const times = random() < SHARE.twiceAtOnce ? 2 : 1;
    await Promise.all(Array.from({ length: times }, () => request(one)));
    if (one.accepted === undefined || random() >= SHARE.otherContent) return;
    const other = { ...one, amount: (one.amount ?? 0n) + 1n };
    const { status, json, text } = await untilAnswered(pathOf(one), bodyOf(other));
    if (status !== 409 || json.code !== 'referrals/idempotency_conflict') {
      complain(`${one.idemKey} with another amount was answered ${status} ${text}`);
    }
  }

  async function request(one: AskedCommission): Promise<void> {
    const first = await ask(pathOf(one), bodyOf(one));
    if (!first && random() < SHARE.givenUp) {
      one.isUncertain = true;
      return;
    }
    const answer = first ?? (await untilAnswered(pathOf(one), bodyOf(one)));
    const { status, json, text } = answer;
    if (status === (one.kind === 'payout' ? 201 : 200)) {
      one.accepted ??= text;
      if (text !== one.accepted) complain(`${one.idemKey} was answered ${one.accepted} and then ${text}`);
    } else if (json.code === 'referrals/insufficient_earnings') one.isUncertain ||= !first;
    else complain(`${one.idemKey} was answered ${status} ${text}`);
  }
}

const pathOf = ({ kind }: AskedCommission): string => `/referrals/${kind}`;

const bodyOf = ({ idemKey, user: { userId }, amount, levels }: AskedCommission): object => ({
  idemKey,
  userId,
  currency: CHIP,
  amount: amount?.toString(),
  levels,
});
