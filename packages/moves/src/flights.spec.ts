import type { TransactionStatus } from '@coffer/solana';
import { expect } from 'chai';
import { createFlights } from './flights.ts';
import { simulatedClock } from './testing/simulatedClock.ts';

const COUNT = 1_000;
const POLICY = { resendIntervalMs: 1_000, pollIntervalMs: 500, lossCheckIntervalMs: 5_000 };

describe('transactions in flight', () => {
  it('share their polls: a thousand of them cost a few calls', async () => {
    const { flights, clock, calls, statuses } = sky();
    const watches = signatures().map((signature) => flights.watch(flight(signature)));
    clock.after(20_250, () => {
      for (const signature of signatures()) statuses.set(signature, finalized);
    });
    await clock.runUntil(Promise.all(watches.map(({ landed }) => landed)));
    // Twenty seconds, two polls a second, four calls a poll, and three checks whether the oldest are lost.
    expect(calls.statuses).to.be.at.most(41 * 4);
    expect(calls.isLost).to.be.at.most(41 * 3);
    expect(calls.send)
      .to.be.at.least(COUNT)
      .and.at.most(COUNT * 21);
    expect(flights.size()).to.equal(0);
  });

  it('poll and send nothing when none is left', async () => {
    const { flights, clock, calls, statuses } = sky();
    statuses.set('one', finalized);
    await clock.runUntil(flights.watch(flight('one')).landed);
    flights.watch(flight('two')).leave();
    const before = { ...calls };
    await clock.runUntil(new Promise<void>((resolve) => clock.after(60_000, () => resolve())));
    expect(calls).to.deep.equal(before);
  });

  it('are lost when the chain says so, even after a doubtful one', async () => {
    const { flights, clock, lost } = sky();
    const doubtful = flights.watch(flight('doubtful', 1n));
    for (const signature of signatures()) lost.add(signature);
    const watches = signatures().map((signature) => flights.watch(flight(signature)));
    const landings = await clock.runUntil(Promise.all(watches.map(({ landed }) => landed)));
    expect(new Set(landings.map(({ outcome }) => outcome))).to.deep.equal(new Set(['lost']));
    expect(flights.size()).to.equal(1);
    doubtful.leave();
  });

  it('are lost when the chain says so, however many older ones no node can judge', async () => {
    const { flights, clock, lost, calls } = sky();
    const doubtful = signatures().map((signature) => flights.watch(flight(signature, 1n)));
    lost.add('expired');
    const { landed } = flights.watch(flight('expired'));
    expect(await clock.runUntil(landed)).to.deep.equal({ outcome: 'lost' });
    const polls = clock.nowMs() / POLICY.pollIntervalMs;
    expect(calls.isLost).to.be.at.most(polls * 3 + 1);
    for (const { leave } of doubtful) leave();
  });

  it('are not sent while only watched, nor while in a block', async () => {
    const { flights, clock, calls, statuses } = sky();
    statuses.set('held', { slot: 1n, commitment: 'confirmed', error: null });
    const watched = flights.watch({ ...flight('watched'), transaction: undefined });
    const held = flights.watch(flight('held'));
    await clock.runUntil(new Promise<void>((resolve) => clock.after(30_000, () => resolve())));
    expect(calls.send, 'once, before anything was known of it').to.equal(1);
    watched.leave();
    held.leave();
  });
});

const finalized: TransactionStatus = { slot: 7n, commitment: 'finalized', error: null };
const signatures = () => Array.from({ length: COUNT }, (_, index) => `signature ${index}`);
const flight = (signature: string, lastValidBlockHeight = 100n) => ({
  signature,
  lastValidBlockHeight,
  transaction: new Uint8Array(1),
});

function sky() {
  const clock = simulatedClock();
  const statuses = new Map<string, TransactionStatus>();
  const lost = new Set<string>();
  const calls = { statuses: 0, isLost: 0, send: 0 };
  const flights = createFlights({
    clock,
    policy: POLICY,
    onTrouble: (error) => {
      throw error;
    },
    chain: {
      async statuses(asked) {
        calls.statuses += 1;
        expect(asked.length).to.be.at.most(256);
        return asked.map((signature) => statuses.get(signature));
      },
      async isLost(signature) {
        calls.isLost += 1;
        return lost.has(signature);
      },
      async send() {
        calls.send += 1;
        return { outcome: 'accepted' };
      },
    },
  });
  return { clock, flights, calls, statuses, lost };
}
