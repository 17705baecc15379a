import { expect } from 'chai';
import { confirmed, last, locked, refunded, released, settled } from '../testing/poolBuilders.ts';
import { decodePool, encodePool } from './pool.snapshot.ts';
import type { Pool } from './pool.state.ts';
import { pool } from './pool.ts';
import { encodeStakes } from './stakes.ts';

const MOST = 2n ** 64n - 1n;
const open = [locked(1, MOST), locked(2, 40n), confirmed(1, MOST), locked(3, 1n), released(3, 1n)];
const settledHistory = [
  ...open,
  settled({ staked: MOST, rake: 1n, payouts: [[1, MOST - 1n]], released: [2], credits: 2, last: last(2) }),
];
const refund = { refunded: MOST + 40n, credits: 2, last: last(2) };

const plain = (of: Pool) => (of.status === 'unknown' ? of : { ...of, stakes: encodeStakes(of.stakes) });

describe('pool: snapshot', () => {
  for (const history of [
    [],
    open.slice(0, 1),
    open,
    settledHistory,
    [...open, refunded(refund)],
    [...open, refunded({ ...refund, reason: 'rain' })],
  ]) {
    it(`after ${history.length} events (${history.at(-1)?.type}) comes back as it went in`, () => {
      const state = history.reduce(pool.evolve, pool.initialState);
      const { facts, bytes } = encodePool(state);
      const stored = {
        facts: JSON.parse(JSON.stringify(facts)),
        ...(bytes && { bytes: Uint8Array.from(bytes) }),
      };
      const decoded = decodePool(stored);
      // As a store does that uses the memory again.
      stored.bytes?.fill(0xff);
      expect(plain(decoded)).to.deep.equal(plain(state));
    });
  }

  it('refuses what is not a snapshot of a pool', () =>
    expect(() => decodePool({ facts: { status: 'open', revision: 0 } })).to.throw());
});
