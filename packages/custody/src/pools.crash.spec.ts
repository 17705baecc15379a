/**
 * Processes that die at each step of a lock, a settlement, a refund and a release: a repeat on another node, or the hold
 * process alone, finishes what was begun, exactly once. Source: contract, Custody; ADR 0006.
 */
import { type RecordedEvent, StoreAbsentError } from '@coffer/event-store';
import { Died, type Life, mortalStore } from '@coffer/event-store/testing';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { manyAtATime } from './credits.ts';
import { CHIP, createPoolWorld, type PoolWorld, TIMEOUT_SECONDS } from './testing/poolNodes.ts';

const POOL = 'round-1';
type Node = ReturnType<PoolWorld['startNode']>;

/** Three confirmed stakes, of which two are one player's, and one that is not confirmed. */
async function startedPool() {
  const world = await createPoolWorld();
  const [node] = world.nodes;
  const players = [
    await world.newPlayer(100n),
    await world.newPlayer(100n),
    await world.newPlayer(100n),
  ] as const;
  const lock = (of: Pick<Node, 'pools'>, bet: number, userId: string) =>
    of.pools.lock(
      world.place,
      { poolId: POOL, betId: `b${bet}`, userId, currency: CHIP, amount: 10n },
      world.context(),
    );
  for (const [bet, userId] of [
    [1, players[0]],
    [2, players[1]],
    [3, players[1]],
    [4, players[2]],
  ] as const) {
    await lock(node, bet, userId);
    if (bet < 4) await node.pools.confirm(world.place, { poolId: POOL, betId: `b${bet}` }, world.context());
  }
  return { world, players, lock };
}
type Started = Awaited<ReturnType<typeof startedPool>>;

/** The operations, with how many appends each makes. */
const operations: readonly {
  readonly name: string;
  readonly appends: number;
  readonly run: (started: Started, node: Node) => Promise<unknown>;
}[] = [
  { name: 'lock', appends: 2, run: ({ lock, players }, node) => lock(node, 5, players[0]) },
  {
    name: 'settle',
    appends: 4,
    run: ({ world, players }, node) =>
      node.pools.settle(
        world.place,
        {
          poolId: POOL,
          currency: CHIP,
          rake: 3n,
          payouts: [
            { betId: 'b3', userId: players[1], payout: 20n },
            { betId: 'b1', userId: players[0], payout: 7n },
          ],
        },
        world.context(),
      ),
  },
  {
    name: 'refund',
    appends: 4,
    run: ({ world }, node) => node.pools.refund(world.place, { poolId: POOL }, world.context()),
  },
  {
    name: 'release',
    appends: 2,
    run: async ({ world }, node) => {
      world.passSeconds(TIMEOUT_SECONDS);
      return node.pools.release(world.place, POOL, 0, world.context());
    },
  },
];

/** What the log says, without what differs from run to run: whose ids were made up, and in which order accounts wrote. */
function storyOf(log: readonly RecordedEvent[], { players, world }: Started) {
  const named = (text: string) =>
    players
      .reduce((replaced, userId, index) => replaced.replaceAll(userId, `player-${index}`), text)
      .replaceAll(world.place.appId, 'app');
  return log
    .filter(({ stream }) => stream.startsWith('account-') || stream.startsWith('pool-'))
    .map(({ stream, revision, type, data }) => [named(stream), revision, type, named(data)] as const)
    .toSorted(([one, oneAt], [other, otherAt]) => one.localeCompare(other) || oneAt - otherAt);
}

describe('a process that dies', () => {
  for (const { name, appends, run } of operations) {
    for (let at = 1; at <= appends; at++) {
      for (const dies of ['before', 'after'] as const) {
        const life: Life = { appends: at, dies };
        for (const finisher of ['a repeat', 'the process'] as const) {
          it(`${dies} append ${at} of a ${name} is finished by ${finisher}, exactly once`, async () => {
            const undisturbed = await startedPool();
            await run(undisturbed, undisturbed.world.startNode());
            const started = await startedPool();
            const { world } = started;
            const mortal = world.startNode(mortalStore(world.store, life));
            await run(started, mortal).then(
              () => undefined,
              (error: unknown) => {
                if (!(error instanceof Died)) throw error;
              },
            );
            if (finisher === 'a repeat' || (at === 1 && dies === 'before'))
              await run(started, world.startNode());
            await world.finish();
            expect(await world.finish(), 'owed for ever').to.equal(0);
            await world.requireWhole();
            expect(storyOf(await world.events(), started)).to.deep.equal(
              storyOf(await undisturbed.world.events(), undisturbed),
            );
          });
        }
      }
    }
  }

  for (const point of [
    'pool.closed',
    'pool.oneCredited',
    'pool.halfCredited',
    'pool.allButOneCredited',
    'pool.credited',
  ] as const) {
    it(`at ${point} leaves credits that a process finishes, even if that dies there as well`, async () => {
      const started = await startedPool();
      const { world } = started;
      const settle = operations[1];
      world.dieAt(point);
      await settle?.run(started, world.nodes[0]).catch((error: unknown) => {
        if (!(error instanceof Died)) throw error;
      });
      world.dieAt(point);
      await world.finish().catch((error: unknown) => {
        if (!(error instanceof Died)) throw error;
      });
      await world.finish(world.startNode());
      expect(await world.finish(), 'owed for ever').to.equal(0);
      await world.requireWhole();
      expect((await world.typesOf('account-')).filter((type) => type === 'HoldClosed')).to.have.length(4);
    });
  }

  for (const name of ['settle', 'refund', 'release']) {
    it(`is not needed to leave the credits of a ${name} to another: it answers although accounts are away`, async () => {
      const started = await startedPool();
      const { world } = started;
      const node = world.startNode({
        ...world.store,
        async append(request) {
          if (!request.stream.startsWith('account-')) return world.store.append(request);
          throw new StoreAbsentError('Nobody answers.');
        },
      });
      await operations.find((one) => one.name === name)?.run(started, node);
      expect(await world.typesOf('account-')).not.to.include('HoldClosed');
      expect(await world.finish()).to.equal(1);
      expect(await world.finish()).to.equal(0);
      await world.requireWhole();
    });
  }

  it('at lock.held of a pool that is refunded meanwhile gets its hold back in full, also after a repeat', async () => {
    const { world, players, lock } = await startedPool();
    const [node, other] = world.nodes;
    const [userId] = players;
    world.dieAt('lock.held');
    expect(await failureOf(lock(node, 5, userId))).to.be.instanceOf(Died);
    await other.pools.refund(world.place, { poolId: POOL }, world.context());
    const closed = { code: 'custody/pool_closed', details: { status: 'refunded' } };
    expect(await failureOf(lock(other, 5, userId))).to.deep.include(closed);
    expect(await world.figures(userId)).to.include({ available: 90n, held: 10n });
    expect(await world.finish()).to.equal(1);
    expect(await world.figures(userId)).to.include({ available: 100n, held: 0n });
    expect(await failureOf(lock(other, 5, userId))).to.deep.include(closed);
    expect(await world.finish(), 'owed for ever').to.equal(0);
    await world.requireWhole();
  });

  it('in the middle of the credits of 20,000 players leaves the others to the next, and each is made once', async () => {
    const world = await createPoolWorld();
    const [node] = world.nodes;
    const { place } = world;
    const stakes: { readonly userId: string; readonly betId: string }[] = [];
    await manyAtATime([...Array(20_000).keys()], async (bet) => {
      const stake = { userId: await world.newPlayer(3n), betId: `b${bet}` };
      const { betId } = stake;
      stakes.push(stake);
      await node.pools.lock(place, { poolId: POOL, ...stake, currency: CHIP, amount: 3n }, world.context());
      await node.pools.confirm(place, { poolId: POOL, betId }, world.context());
    });
    // Every other one wins, and the house keeps the sixth part.
    const payouts = stakes.flatMap((stake, index) => (index % 2 ? [{ ...stake, payout: 5n }] : []));
    const { answer } = await node.pools.settle(
      place,
      { poolId: POOL, currency: CHIP, rake: 10_000n, payouts },
      world.context(),
    );
    expect(answer.credits).to.equal(20_000);
    const closed = async () =>
      (await world.typesOf('account-')).filter((type) => type === 'HoldClosed').length;
    expect(await closed(), 'left to the process').to.equal(0);
    world.dieAt('pool.halfCredited');
    await world.finish().catch((error: unknown) => {
      if (!(error instanceof Died)) throw error;
    });
    expect(await closed()).to.be.within(9_000, 19_000);
    const dying = world.startNode(mortalStore(world.store, { appends: 5_000, dies: 'after' }));
    await world.finish(dying).catch((error: unknown) => {
      if (!(error instanceof Died)) throw error;
    });
    expect(await closed()).to.be.below(20_000);
    expect(await world.finish(world.startNode())).to.equal(1);
    expect(await world.finish()).to.equal(0);
    expect(await closed()).to.equal(20_000);
    await world.requireWhole();
  });
});

describe('two identical requests for a stake', () => {
  it('are the first and its replay, even if the other one locks the stake that the first holds funds for', async () => {
    const { world, lock, players } = await startedPool();
    const others: Awaited<ReturnType<typeof lock>>[] = [];
    const first = await lock(
      world.startNode({
        ...world.store,
        async append(request) {
          const result = await world.store.append(request);
          if (request.events[0]?.type === 'FundsHeld') others.push(await lock(world.nodes[1], 5, players[0]));
          return result;
        },
      }),
      5,
      players[0],
    );
    expect(first.replayed).to.equal(false);
    expect(others).to.have.length(1);
    expect(others[0]).to.deep.include({ answer: first.answer, replayed: true });
  });
});
