/**
 * Processes that die before and after each event of a payout, a distribution and a withdrawal: a repeat on another node,
 * or the hold process alone, finishes what was begun, exactly once. Source: contract, Referrals; ADR 0006.
 */
import type { RecordedEvent } from '@coffer/event-store';
import { Died, mortalStore } from '@coffer/event-store/testing';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { CHIP, createReferralWorld, type ReferralNode } from './testing/referralNodes.ts';

const KEY = 'k1';

/** A user with three referrers above, one of whom has earned something. */
async function startWorld() {
  const world = createReferralWorld();
  const { place, context } = world;
  const [node] = world.nodes;
  const users: string[] = [];
  for (const code of ['user', 'first', 'second', 'third']) {
    const userId = await world.newUser();
    await node.codes.ensure(place, userId, code, context());
    const brought = users.at(-1);
    if (brought !== undefined) await node.attributions.attribute(place, brought, code, context());
    users.push(userId);
  }
  const [userId = '', first = ''] = users;
  const earned = { idemKey: 'earned', userId: first, currencyId: CHIP, amount: 50n };
  await node.commissions.payOut(place, earned, context());
  return { world, users, userId, first };
}
type Started = Awaited<ReturnType<typeof startWorld>>;

interface Operation {
  readonly name: string;
  /** How many it makes. */
  readonly appends: number;
  readonly run: (started: Started, node: ReferralNode) => Promise<{ readonly answer: object }>;
}

const withdrawal: Operation = {
  name: 'withdrawal',
  appends: 3,
  run: ({ world, first }, { withdrawals }) =>
    withdrawals.withdraw(world.place, { idemKey: KEY, userId: first, currencyId: CHIP }, world.context()),
};

const operations: readonly Operation[] = [
  {
    name: 'payout',
    appends: 2,
    run: ({ world, first }, { commissions }) =>
      commissions.payOut(
        world.place,
        { idemKey: KEY, userId: first, currencyId: CHIP, amount: 7n },
        world.context(),
      ),
  },
  {
    name: 'distribution',
    appends: 4,
    run: ({ world, userId }, { commissions }) =>
      commissions.distribute(
        world.place,
        { idemKey: KEY, userId, currencyId: CHIP, amount: 1000n, levels: [500, 200, 100] },
        world.context(),
      ),
  },
  withdrawal,
];

/** What the log says, without what differs from run to run: ids, and the order in which streams were written. */
function storyOf(log: readonly RecordedEvent[], { users, world }: Started) {
  const named = (text: string) =>
    users
      .reduce((replaced, userId, index) => replaced.replaceAll(userId, `user-${index}`), text)
      .replaceAll(world.place.appId, 'app');
  return log
    .filter(({ stream }) => /^(commission|earnings|account)-/.test(stream))
    .map(({ stream, revision, type, data }) => [named(stream), revision, type, named(data)] as const)
    .toSorted(([one, oneAt], [other, otherAt]) => one.localeCompare(other) || oneAt - otherAt);
}

describe('a process that dies', () => {
  for (const { name, appends, run } of operations) {
    for (let at = 1; at <= appends; at++) {
      for (const dies of ['before', 'after'] as const) {
        for (const finisher of ['a repeat', 'the process'] as const) {
          const isBegun = at > 1 || dies === 'after';
          if (finisher === 'the process' && !isBegun) continue;
          it(`${dies} append ${at} of a ${name} is finished by ${finisher}, exactly once`, async () => {
            const undisturbed = await startWorld();
            const { answer } = await run(undisturbed, undisturbed.world.startNode());
            const started = await startWorld();
            const { world } = started;
            const mortal = world.startNode(mortalStore(world.store, { appends: at, dies }));
            expect(await failureOf(run(started, mortal))).to.be.instanceOf(Died);
            if (finisher === 'the process') await world.finish();
            else await run(started, world.startNode());
            expect(await world.finish(), 'owed for ever').to.equal(0);
            await world.requireWhole();
            expect(storyOf(await world.events(), started)).to.deep.equal(
              storyOf(await undisturbed.world.events(), undisturbed),
            );
            const repeat = await run(started, world.startNode());
            expect(textOf(repeat.answer, started)).to.equal(textOf(answer, undisturbed));
            expect(repeat).to.include({ replayed: true });
          });
        }
      }
    }
  }

  for (const dies of ['before', 'after'] as const) {
    it(`${dies} earnings come back whose key became a payout’s is finished by the process, exactly once`, async () => {
      const started = await startWorld();
      const { world, first } = started;
      const [{ commissions }] = world.nodes;
      const mortal = world.startNode(mortalStore(world.store, { appends: 2, dies: 'before' }));
      expect(await failureOf(withdrawal.run(started, mortal))).to.be.instanceOf(Died);
      const payout = { idemKey: KEY, userId: first, currencyId: CHIP, amount: 7n };
      await commissions.payOut(world.place, payout, world.context());
      const doomed = world.startNode(mortalStore(world.store, { appends: 1, dies }));
      expect(await failureOf(world.finish(doomed))).to.be.instanceOf(Died);
      await world.finish();
      expect(await world.finish(), 'owed for ever').to.equal(0);
      await world.requireWhole();
      const subject = { userId: first, currencyId: CHIP };
      expect(await commissions.figures(world.place, subject, world.context())).to.deep.equal({
        accrued: 57n,
        withdrawn: 0n,
        balance: 57n,
      });
    });
  }
});

const textOf = (answer: object, { users }: Started): string =>
  users.reduce(
    (text, userId, index) => text.replaceAll(userId, `user-${index}`),
    JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? `${value}` : value)),
  );
