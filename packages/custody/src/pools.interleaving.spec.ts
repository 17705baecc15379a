/**
 * Locks, confirmations, settlements, refunds, releases, their repeats and the process, all at once on two nodes whose
 * store is slow, unavailable or loses replies, and whose requests die between their steps. Afterwards nothing may be half
 * done: no hold without a stake that waits in a pool, no payout without a stake, and every repeat gets its answer.
 */
import { answerOf, createTroubledStore } from '@coffer/event-store/testing';
import { type Random, randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { confirmedBody, lockedBody, refundedBody, settledBody } from './domain/pool.answers.ts';
import { pool, poolStream } from './domain/pool.ts';
import { stakeAt } from './domain/stakes.ts';
import { CHIP, createPoolWorld, type PoolWorld, SOL, TIMEOUT_SECONDS } from './testing/poolNodes.ts';

const RUNS = 300;
const FUNDS = 60n;

type Ask =
  | {
      readonly op: 'lock';
      readonly poolId: string;
      readonly betId: string;
      readonly player: number;
      readonly currency: number;
      readonly amount: bigint;
    }
  | { readonly op: 'confirm'; readonly poolId: string; readonly betId: string }
  | { readonly op: 'settle'; readonly poolId: string; readonly rake: bigint; readonly winner: number }
  | { readonly op: 'refund'; readonly poolId: string; readonly reason: string | undefined };
type Step = Ask | { readonly op: 'release'; readonly poolId: string } | { readonly op: 'pass' | 'finish' };

const poolId = fc.constantFrom('p', 'q');
const betId = fc.constantFrom('a', 'b', 'c');
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        op: fc.constant('lock' as const),
        poolId,
        betId,
        player: fc.nat(2),
        currency: fc.oneof(
          { weight: 9, arbitrary: fc.constant(CHIP) },
          { weight: 1, arbitrary: fc.constant(SOL) },
        ),
        amount: fc.constantFrom(10n, 10n, 10n, 25n),
      }),
    },
    { weight: 8, arbitrary: fc.record({ op: fc.constant('confirm' as const), poolId, betId }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('settle' as const),
        poolId,
        rake: fc.constantFrom(0n, 1n, 1n),
        winner: fc.nat(3),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('refund' as const),
        poolId,
        reason: fc.constantFrom(undefined, 'rain'),
      }),
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('release' as const), poolId }) },
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constantFrom('pass' as const, 'pass' as const, 'finish' as const) }),
    },
  ),
  { minLength: 25, maxLength: 60 },
);

describe('pools: two nodes at once', () => {
  it('keep every stake in its pool and pay it once, whatever is lost, repeated or killed', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(steps, fc.integer(), async (scenario, seed) => {
        const run = await startRun(randomFrom(seed));
        await run.play(scenario);
        await run.requireNothingHalfDone();
        for (const answer of run.answers) seen.add(answer);
      }),
      { numRuns: RUNS },
    );
    // A run that covers less than this would prove little.
    expect([...seen]).to.include.members([
      'lock accepted',
      'lock no answer',
      'lock custody/idempotency_conflict',
      'lock custody/lock_released',
      'lock custody/pool_closed',
      'lock custody/insufficient_funds',
      'lock custody/currency_mismatch',
      'confirm accepted',
      'confirm custody/lock_released',
      'confirm custody/pool_closed',
      'settle accepted',
      'settle no answer',
      'settle custody/conservation_violated',
      'settle custody/pool_closed',
      'refund accepted',
      'refund custody/idempotency_conflict',
      'release accepted',
    ]);
  });
});

async function startRun(random: Random) {
  const trouble = createTroubledStore(random);
  const world = await createPoolWorld({ store: trouble.store, mayDie: () => trouble.happens(0.1) });
  const players = await Promise.all([FUNDS, FUNDS, FUNDS].map((amount) => world.newPlayer(amount)));
  const [solPlayer] = players;
  if (solPlayer) {
    await world.nodes[0].accounts.credit(
      world.accountOf(solPlayer, SOL),
      { ref: 'sol', amount: FUNDS },
      {
        metadata: { correlationId: 'r', actor: 'operator', occurredAt: '2026-01-31T12:00:00.000Z' },
        deadlineMs: performance.now() + 60_000,
      },
    );
  }
  const answers: string[] = [];
  const bodies = new Map<string, { readonly ask: Ask; readonly settles: unknown; readonly body: string }>();

  async function take(step: Step): Promise<void> {
    const node = world.nodes[random() < 0.5 ? 0 : 1];
    const context = { ...world.context(), ...(trouble.isCalm ? {} : { deadlineMs: performance.now() }) };
    switch (step.op) {
      case 'pass':
        world.passSeconds(TIMEOUT_SECONDS / 2);
        return;
      case 'finish':
        await answerOf(world.finish(node));
        return;
      case 'release': {
        const outcome = await answerOf(
          node.pools.release(world.place, step.poolId, 0, context).then(() => ''),
        );
        answers.push(`release ${outcome.code}`);
        return;
      }
      default: {
        const settles = step.op === 'settle' ? await payoutsFor(world, step) : undefined;
        const outcome = await answerOf(ask(world, node, players, step, settles, context));
        answers.push(`${step.op} ${outcome.code}`);
        if (outcome.body === undefined) return;
        // The same request is answered the same, by either node and at any time.
        const key = JSON.stringify([step, settles], (_, value) =>
          typeof value === 'bigint' ? value.toString() : value,
        );
        expect(outcome.body).to.equal(bodies.get(key)?.body ?? outcome.body);
        bodies.set(key, { ask: step, settles, body: outcome.body });
      }
    }
  }

  return {
    answers,
    play: (scenario: readonly Step[]) =>
      trouble.inTrouble(scenario, (together) => Promise.all(together.map(take))),
    async requireNothingHalfDone(): Promise<void> {
      // The first round may lock stakes and close holds that others were lost to.
      await world.finish();
      await world.finish();
      expect(await world.finish(), 'owed for ever').to.equal(0);
      await world.requireWhole();
      // And every repeat gets the first answer, unless its stake was given back since.
      for (const { ask: asked, settles, body } of bodies.values()) {
        const context = world.context();
        const again = await answerOf(
          ask(world, world.nodes[1], players, asked, settles as Payouts | undefined, context),
        );
        if (again.code !== 'custody/lock_released') expect(again.body).to.equal(body);
        else expect(asked.op).to.be.oneOf(['lock', 'confirm']);
      }
      expect(await world.finish()).to.equal(0);
    },
  };
}

type Payouts = readonly { readonly betId: string; readonly userId: string; readonly payout: bigint }[];

/** All to one of the confirmed stakes, as far as the log has them now; others may be confirmed meanwhile. */
async function payoutsFor(
  world: PoolWorld,
  { poolId: id, rake, winner }: Extract<Ask, { op: 'settle' }>,
): Promise<Payouts> {
  const stream = poolStream(world.place.environment, world.place.appId, id);
  let state = pool.initialState;
  for (const stored of await world.events()) {
    if (stored.stream === stream) state = pool.evolve(state, pool.codec.decode(stored));
  }
  if (state.status === 'unknown') return [];
  const { stakes } = state;
  const confirmed = Array.from({ length: stakes.count }, (_, place) => stakeAt(stakes, place + 1)).filter(
    ({ standing }) => standing === 'confirmed',
  );
  const wins = confirmed[winner % Math.max(1, confirmed.length)];
  if (!wins || state.confirmed < rake) return [];
  return [{ betId: wins.betId, userId: wins.userId, payout: state.confirmed - rake }];
}

async function ask(
  world: PoolWorld,
  { pools }: PoolWorld['nodes'][number],
  players: readonly string[],
  asked: Ask,
  payouts: Payouts | undefined,
  context: ReturnType<PoolWorld['context']>,
): Promise<string> {
  const { place } = world;
  const { poolId: id } = asked;
  switch (asked.op) {
    case 'lock': {
      const { betId: bet, currency, amount, player } = asked;
      const request = { poolId: id, betId: bet, userId: players[player] ?? '', currency, amount };
      return JSON.stringify(lockedBody(id, (await pools.lock(place, request, context)).answer));
    }
    case 'confirm':
      return JSON.stringify(confirmedBody(id, (await pools.confirm(place, asked, context)).answer));
    case 'settle': {
      const request = { poolId: id, currency: CHIP, rake: asked.rake, payouts: payouts ?? [] };
      return JSON.stringify(
        settledBody(
          id,
          (await pools.settle(place, { ...request, payouts: [...request.payouts] }, context)).answer,
        ),
      );
    }
    case 'refund':
      return JSON.stringify(
        refundedBody(id, (await pools.refund(place, { poolId: id, reason: asked.reason }, context)).answer),
      );
  }
}
