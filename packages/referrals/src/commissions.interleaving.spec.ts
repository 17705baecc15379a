/**
 * Payouts, distributions, withdrawals and their repeats under few keys, many at once while the chain grows, on two nodes
 * whose store is slow, unavailable or loses replies, and whose requests die between their steps. Afterwards each key has
 * had one effect, whole, and its request is answered as it was the first time.
 */

import { answerOf, createTroubledStore } from '@coffer/event-store/testing';
import { MAX_AMOUNT } from '@coffer/kernel';
import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Distribution, Payout, Withdrawal } from './domain/commission.ts';
import { type Part, remainderOf, splitByLevels } from './domain/splitByLevels.ts';
import { CHIP, createReferralWorld, type ReferralNode } from './testing/referralNodes.ts';

const RUNS = 100;
const USERS = 5;

type Ask =
  | { readonly op: 'payout'; readonly idemKey: string; readonly user: number; readonly amount: bigint }
  | {
      readonly op: 'distribute';
      readonly idemKey: string;
      readonly user: number;
      readonly amount: bigint;
      readonly levels: readonly number[];
    }
  | {
      readonly op: 'withdraw';
      readonly idemKey: string;
      readonly user: number;
      readonly requested: bigint | undefined;
    };
type Step = Ask | { readonly op: 'attribute'; readonly user: number } | { readonly op: 'finish' };

const idemKey = fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6');
const user = fc.nat(USERS - 1);
const shares = fc
  .array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 10 })
  .filter((levels) => levels.reduce((sum, one) => sum + one, 0) <= 10_000);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        op: fc.constant('payout' as const),
        idemKey,
        user,
        amount: fc.constantFrom(1n, 7n, MAX_AMOUNT),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        op: fc.constant('distribute' as const),
        idemKey,
        user: fc.constantFrom(0, 1),
        amount: fc.constantFrom(7n, 101n),
        levels: fc.constantFrom([5_000, 2_500, 2_500], [3_333, 3_333, 3_333, 1]),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        op: fc.constant('withdraw' as const),
        idemKey,
        user,
        requested: fc.constantFrom(undefined, 1n, 3n),
      }),
    },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('attribute' as const), user }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('finish' as const) }) },
  ),
  { minLength: 15, maxLength: 45 },
);

describe('splits', () => {
  it('give each level at most its share, and what is not given stays with the house', () => {
    const chain = fc.array(fc.boolean(), { maxLength: 10 });
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: MAX_AMOUNT }), shares, chain, (amount, levels, above) => {
        const links = above.map((isErased, index) => ({ level: index + 1, userId: `u${index}`, isErased }));
        const { distributed, withheld } = splitByLevels({ amount, levels }, links);
        const remainder = remainderOf(amount, distributed);
        expect(remainder >= 0n).to.equal(true);
        expect(sumOf(distributed) + remainder).to.equal(amount);
        expect(sumOf(withheld) <= remainder, 'what is withheld is within the remainder').to.equal(true);
        const parts = [...distributed, ...withheld];
        expect(parts.map(({ level }) => level).toSorted((one, other) => one - other)).to.deep.equal(
          links.slice(0, levels.length).map(({ level }) => level),
        );
        for (const { level, bps, amount: part } of parts) {
          expect(bps).to.equal(levels[level - 1]);
          // Rounded down: not more than the share, and less than one unit below it.
          const owed = amount * BigInt(bps);
          expect(part * 10_000n <= owed && owed < (part + 1n) * 10_000n).to.equal(true);
        }
      }),
    );
  });
});

describe('commissions: two nodes at once', () => {
  it('have one effect for each key, whatever is lost, repeated or killed and however the chain grows', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(steps, fc.integer(), async (scenario, seed) => {
        const run = await startRun(seed);
        await run.play(scenario);
        await run.requireNothingHalfDone();
        for (const told of run.told) seen.add(told);
      }),
      { numRuns: RUNS },
    );
    // A run that covers less than this would prove little.
    const outcomes = ['accepted', 'no answer', 'referrals/idempotency_conflict'];
    expect([...seen]).to.include.members([
      ...['payout', 'distribute', 'withdraw'].flatMap((op) => outcomes.map((outcome) => `${op} ${outcome}`)),
      'withdraw referrals/insufficient_earnings',
    ]);
  });
});

const sumOf = (parts: readonly Part[]): bigint => parts.reduce((sum, { amount }) => sum + amount, 0n);

async function startRun(seed: number) {
  const random = randomFrom(seed);
  const trouble = createTroubledStore(random);
  const world = createReferralWorld({ store: trouble.store, mayDie: () => trouble.happens(0.08) });
  const { place, nodes } = world;
  const users = await Promise.all(Array.from({ length: USERS }, () => world.newUser()));
  const idOf = (at: number) => users[at] ?? '';
  for (const [at, userId] of users.entries()) {
    await nodes[0].codes.ensure(place, userId, `user-${at}`, world.context());
  }
  const told: string[] = [];
  const bodies = new Map<string, { readonly ask: Ask; readonly body: string }>();

  async function ask({ commissions, withdrawals }: ReferralNode, asked: Ask): Promise<string> {
    const context = { ...world.context(), ...(trouble.isCalm ? {} : { deadlineMs: performance.now() }) };
    const request = { idemKey: asked.idemKey, userId: idOf(asked.user), currencyId: CHIP };
    switch (asked.op) {
      case 'payout': {
        const payout: Payout = { ...request, amount: asked.amount };
        return textOf((await commissions.payOut(place, payout, context)).answer);
      }
      case 'distribute': {
        const split: Distribution = { ...request, amount: asked.amount, levels: [...asked.levels] };
        return textOf((await commissions.distribute(place, split, context)).answer);
      }
      case 'withdraw': {
        const { requested } = asked;
        const withdrawal: Withdrawal = { ...request, ...(requested === undefined ? {} : { requested }) };
        return textOf((await withdrawals.withdraw(place, withdrawal, context)).answer);
      }
    }
  }

  async function take(step: Step): Promise<void> {
    const node = nodes[random() < 0.5 ? 0 : 1];
    switch (step.op) {
      case 'finish':
        await answerOf(world.finish(node));
        return;
      case 'attribute': {
        // By the next user, so that chains grow towards the last one.
        const by = `user-${(step.user + 1) % USERS}`;
        await answerOf(node.attributions.attribute(place, idOf(step.user), by, world.context()));
        return;
      }
      default: {
        const { code, body } = await answerOf(ask(node, step));
        told.push(`${step.op} ${code}`);
        if (body === undefined) return;
        const key = textOf(step);
        expect(body).to.equal(bodies.get(key)?.body ?? body);
        bodies.set(key, { ask: step, body });
      }
    }
  }

  return {
    told,
    play: (scenario: readonly Step[]) =>
      trouble.inTrouble(scenario, (together) => Promise.all(together.map(take))),
    async requireNothingHalfDone(): Promise<void> {
      await world.finish();
      expect(await world.finish(), 'owed for ever').to.equal(0);
      await world.requireWhole();
      // The chain grows to its full length, and every repeat gets the first answer all the same.
      for (let at = 0; at < USERS - 1; at++) await take({ op: 'attribute', user: at });
      for (const { ask: asked, body } of bodies.values()) {
        expect(await ask(nodes[1], asked)).to.equal(body);
      }
      const keys = new Set<string>();
      for (const { ask: asked } of bodies.values()) {
        expect(keys.has(asked.idemKey), `${asked.idemKey} was used twice`).to.equal(false);
        keys.add(asked.idemKey);
      }
      expect(await world.finish()).to.equal(0);
      await world.requireWhole();
    },
  };
}

const textOf = (value: object): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? one.toString() : one));
