import type { StreamTail } from '@coffer/event-store';
import { expect } from 'chai';
import { manyAtATime } from './credits.ts';
import { CHIP, createPoolWorld } from './testing/poolNodes.ts';

const POOL = 'round-1';
const PLAYERS = 64;
const STAKES = 40 * PLAYERS;

describe('the credits of a large pool', () => {
  it('read the accounts that another process wrote last many at a time, and write each at once', async () => {
    const world = await createPoolWorld();
    const { place, store } = world;
    const [node] = world.nodes;
    const players = await Promise.all(Array.from({ length: PLAYERS }, () => world.newPlayer(1_000n)));
    const appended: number[] = [];
    const read: (readonly StreamTail[])[] = [];
    const process = world.startNode({
      ...store,
      append(request) {
        appended.push(request.events.length);
        return store.append(request);
      },
      readTails(tails, limit) {
        if (tails.some(({ stream }) => stream.startsWith('account-'))) read.push(tails);
        return store.readTails(tails, limit);
      },
    });
    await manyAtATime([...Array(STAKES).keys()], async (bet) => {
      const stake = { poolId: POOL, betId: `b${bet}`, userId: players[bet % PLAYERS] ?? '' };
      await node.pools.lock(place, { ...stake, currency: CHIP, amount: 1n }, world.context());
    });
    await node.pools.refund(place, { poolId: POOL }, world.context());
    expect(await world.finish(process)).to.equal(1);
    await world.requireWhole();
    expect(read.length, 'questions for accounts').to.be.at.most(3);
    expect(appended.reduce((sum, events) => sum + events)).to.equal(STAKES);
    // A player's stakes may be in the last credits of one round of work, and in the first of the next.
    expect(appended.length, 'appends').to.be.at.most(2 * PLAYERS);
  });
});
