/**
 * Codes and attributions, many at once, on two nodes whose store is slow, unavailable or loses replies, and whose
 * requests die between their steps. Nobody's chain of referrers may ever come back to them, every request ends, and
 * whoever was told of a referrer keeps it.
 */

import { answerOf, createTroubledStore } from '@coffer/event-store/testing';
import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Attribution } from './attributions.ts';
import { createReferralWorld, type ReferralNode } from './testing/referralNodes.ts';

const RUNS = 200;
const USERS = 6;

type Step =
  /** Insisting, the client asks again until it is told. */
  | { readonly op: 'attribute' | 'insist'; readonly user: number; readonly referrer: number }
  | { readonly op: 'code'; readonly user: number; readonly wanted: string | undefined }
  | { readonly op: 'finish' };

const user = fc.nat(USERS - 1);
const attribute = fc.record({ op: fc.constant('attribute' as const), user, referrer: user });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: attribute },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('code' as const),
        user,
        wanted: fc.constantFrom(undefined, 'roo', 'Roo', 'emu'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('finish' as const) }) },
  ),
  { minLength: 10, maxLength: 40 },
);

describe('attributions: two nodes at once', () => {
  it('never form a circle, whatever is lost, repeated or killed', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(USERS), fc.integer(), async (scenario, withCodes, seed) => {
        const run = await startRun(seed, withCodes);
        await run.play(scenario);
        await run.requireNothingHalfDone();
        for (const told of run.told) seen.add(told);
      }),
      { numRuns: RUNS },
    );
    // A run that covers less than this would prove little.
    expect([...seen]).to.include.members([
      'attribute accepted',
      'attribute no answer',
      'attribute self',
      'attribute unknown_code',
      'attribute already_attributed',
      'attribute cycle',
      'code accepted',
      'code no answer',
      'code referrals/code_taken',
      'code referrals/code_already_issued',
    ]);
  });

  it('lose one link of a ring, and only one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: USERS }), fc.integer(), async (size, seed) => {
        const run = await startRun(seed, USERS);
        await run.play(
          Array.from({ length: size }, (_, at) => ({
            op: 'insist',
            user: at,
            referrer: (at + 1) % size,
          })),
        );
        await run.finishAll();
        const referrals = [...(await run.world.referrals()).values()];
        expect(referrals.filter(({ link }) => link)).to.have.lengthOf(size - 1);
      }),
      { numRuns: RUNS },
    );
  });
});

async function startRun(seed: number, withCodes: number) {
  const random = randomFrom(seed);
  const trouble = createTroubledStore(random);
  const world = createReferralWorld({ store: trouble.store, mayDie: () => trouble.happens(0.08) });
  const { place, nodes } = world;
  const users = await Promise.all(Array.from({ length: USERS }, () => world.newUser()));
  const idOf = (at: number) => users[at] ?? '';
  for (let at = 0; at < withCodes; at++) {
    await nodes[0].codes.ensure(place, idOf(at), `user-${at}`, world.context());
  }
  const told: string[] = [];
  const promised = new Map<string, string>();

  const context = () => ({
    ...world.context(),
    ...(trouble.isCalm ? {} : { deadlineMs: performance.now() }),
  });

  async function attributeOne(
    node: ReferralNode,
    at: number,
    referrer: number,
  ): Promise<Attribution | undefined> {
    const code = (await world.referrals()).get(idOf(referrer))?.code ?? `user-${referrer}`;
    const { code: outcome, body } = await answerOf(
      node.attributions.attribute(place, idOf(at), code, context()),
    );
    const answer = body?.answer;
    told.push(`attribute ${answer && !answer.attributed ? answer.reason : outcome}`);
    if (!answer || (!answer.attributed && answer.reason !== 'already_attributed')) return answer;
    // Once told, it stays.
    const before = promised.get(idOf(at)) ?? answer.referrerUserId;
    expect(answer.referrerUserId).to.equal(before);
    promised.set(idOf(at), before);
    return answer;
  }

  async function take(step: Step): Promise<void> {
    const node = nodes[random() < 0.5 ? 0 : 1];
    switch (step.op) {
      case 'finish':
        await answerOf(world.finish(node));
        return;
      case 'code': {
        const { code } = await answerOf(node.codes.ensure(place, idOf(step.user), step.wanted, context()));
        told.push(`code ${code}`);
        return;
      }
      case 'attribute':
        await attributeOne(node, step.user, step.referrer);
        return;
      case 'insist':
        while ((await attributeOne(node, step.user, step.referrer)) === undefined);
    }
  }

  return {
    world,
    told,
    play: (scenario: readonly Step[]) =>
      trouble.inTrouble(scenario, (together) => Promise.all(together.map(take))),
    finishAll,
    async requireNothingHalfDone(): Promise<void> {
      await finishAll();
      for (const [userId, referrerUserId] of promised) {
        expect((await world.referrals()).get(userId)?.link?.referrerUserId).to.equal(referrerUserId);
      }
      // Once nothing is under way, each answer follows from the links that there are.
      for (const [at, userId] of users.entries()) {
        for (const [other, referrerUserId] of users.entries()) {
          const expected = await expectedOf(userId, referrerUserId);
          expect(await attributeOne(nodes[1], at, other), `${at} by ${other}`).to.deep.equal(expected);
        }
      }
      await world.requireWhole();
    },
  };

  async function finishAll(): Promise<void> {
    await world.finish();
    expect(await world.finish(), 'owed for ever').to.equal(0);
    await world.requireWhole();
  }

  async function expectedOf(userId: string, referrerUserId: string): Promise<Attribution> {
    const referrals = await world.referrals();
    const { link } = referrals.get(userId) ?? { link: undefined };
    if (link?.referrerUserId === referrerUserId) return { attributed: true, referrerUserId };
    if (referrals.get(referrerUserId)?.code === undefined)
      return { attributed: false, reason: 'unknown_code' };
    if (userId === referrerUserId) return { attributed: false, reason: 'self' };
    if (link) {
      return { attributed: false, reason: 'already_attributed', referrerUserId: link.referrerUserId };
    }
    let above: string | undefined = referrerUserId;
    while (above !== undefined && above !== userId) above = referrals.get(above)?.link?.referrerUserId;
    return above === userId ? { attributed: false, reason: 'cycle' } : { attributed: true, referrerUserId };
  }
}
