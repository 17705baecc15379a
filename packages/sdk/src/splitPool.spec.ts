import { expect } from 'chai';
import fc from 'fast-check';
import { MAX_AMOUNT } from './amounts.ts';
import { type PoolStake, splitPool } from './splitPool.ts';

const stakesOf = (...amounts: readonly bigint[]): readonly PoolStake[] =>
  amounts.map((amount, index) => ({ betId: `b${index + 1}`, userId: `usr_${index + 1}`, amount }));

/** From a caller without types. */
const untyped = (pool: object): Parameters<typeof splitPool>[0] => Object(pool);

const paid = ({ payouts }: ReturnType<typeof splitPool>) => payouts.map(({ payout }) => payout);

describe('a pool that is split', () => {
  it('pays the winners in proportion to their stakes, after the rake', () => {
    const split = splitPool({ stakes: stakesOf(100n, 200n, 300n), winners: ['b1', 'b2'], rakeBps: 500 });
    expect(split).to.deep.equal({
      rake: 30n,
      payouts: [
        { betId: 'b1', userId: 'usr_1', payout: 190n },
        { betId: 'b2', userId: 'usr_2', payout: 380n },
      ],
    });
  });

  it('rounds the rake down', () => {
    expect(splitPool({ stakes: stakesOf(1n, 18n), winners: ['b1'], rakeBps: 500 })).to.deep.include({
      rake: 0n,
    });
    expect(splitPool({ stakes: stakesOf(2n, 18n), winners: ['b1'], rakeBps: 500 })).to.deep.include({
      rake: 1n,
    });
  });

  it('takes a rake in base units as it is', () => {
    const pool = { stakes: stakesOf(100n, 200n, 300n), winners: ['b1', 'b2'] };
    expect(splitPool({ ...pool, rake: 30n })).to.deep.equal(splitPool({ ...pool, rakeBps: 500 }));
    expect(splitPool({ ...pool, rake: 0n })).to.deep.equal(splitPool({ ...pool, rakeBps: 0 }));
    expect(splitPool({ ...pool, rake: 600n })).to.deep.equal(splitPool({ ...pool, rakeBps: 10_000 }));
  });

  it('refuses a rake that is not a bigint', () => {
    const pool = { stakes: stakesOf(9n), winners: ['b1'] };
    for (const rake of [1, '1', null]) {
      expect(() => splitPool(untyped({ ...pool, rake })), String(rake)).to.throw(TypeError, /bigint/);
    }
  });

  it('refuses a rake in base units and in basis points at once', () => {
    const pool = { stakes: stakesOf(9n), winners: ['b1'], rake: 0n, rakeBps: 500 };
    expect(() => splitPool(untyped(pool))).to.throw(RangeError, /not both/);
  });

  it('gives what rounding leaves over to those who lost most by it', () => {
    // 100 over 3, 3 and 1 of 7: 42 6/7, 42 6/7 and 14 2/7.
    const split = splitPool({ stakes: stakesOf(3n, 3n, 1n, 93n), winners: ['b1', 'b2', 'b3'], rakeBps: 0 });
    expect(paid(split)).to.deep.equal([43n, 43n, 14n]);
  });

  it('gives it to the smaller bet id if two lost the same', () => {
    const stakes = stakesOf(1n, 1n, 1n);
    expect(paid(splitPool({ stakes, winners: ['b3', 'b2'], rakeBps: 0 }))).to.deep.equal([2n, 1n]);
  });

  it('pays the only winner everything but the rake', () => {
    expect(paid(splitPool({ stakes: stakesOf(7n, 993n), winners: ['b1'], rakeBps: 250 }))).to.deep.equal([
      975n,
    ]);
  });

  it('pays nobody if the rake is everything', () => {
    const split = splitPool({ stakes: stakesOf(7n, 8n), winners: ['b1'], rakeBps: 10_000 });
    expect([split.rake, paid(split)]).to.deep.equal([15n, [0n]]);
  });

  it('counts a winner once that is named twice', () => {
    expect(paid(splitPool({ stakes: stakesOf(5n, 5n), winners: ['b1', 'b1'], rakeBps: 0 }))).to.deep.equal([
      10n,
    ]);
  });

  const refused: readonly [why: string, pool: Parameters<typeof splitPool>[0], message: RegExp][] = [
    ['has no winner', { stakes: stakesOf(1n), winners: [], rakeBps: 0 }, /Without a winner/],
    ['has a winner without a stake', { stakes: stakesOf(1n), winners: ['b2'], rakeBps: 0 }, /"b2"/],
    ['has a bet twice', { stakes: [...stakesOf(1n), ...stakesOf(1n)], winners: ['b1'], rakeBps: 0 }, /twice/],
    ['has a stake of nothing', { stakes: stakesOf(0n), winners: ['b1'], rakeBps: 0 }, /less than 1/],
    ['has half a basis point', { stakes: stakesOf(1n), winners: ['b1'], rakeBps: 0.5 }, /basis points/],
    [
      'has a rake beyond the pool',
      { stakes: stakesOf(1n), winners: ['b1'], rakeBps: 10_001 },
      /basis points/,
    ],
    ['has a negative rake', { stakes: stakesOf(1n), winners: ['b1'], rakeBps: -1 }, /basis points/],
    ['has a rake below 0', { stakes: stakesOf(1n), winners: ['b1'], rake: -1n }, /whole pool/],
    [
      'has a rake of one unit too many',
      { stakes: stakesOf(1n, 2n), winners: ['b1'], rake: 4n },
      /whole pool/,
    ],
  ];
  for (const [why, pool, message] of refused) {
    it(`is refused if it ${why}`, () => expect(() => splitPool(pool)).to.throw(RangeError, message));
  }

  describe('whatever the stakes,', () => {
    const amounts = fc.oneof(fc.bigInt(1n, 20n), fc.bigInt(1n, MAX_AMOUNT));
    const pools = fc
      .tuple(fc.array(amounts, { minLength: 1, maxLength: 40 }), fc.integer({ min: 0, max: 10_000 }))
      .chain(([all, rakeBps]) =>
        fc.record({
          stakes: fc.constant(stakesOf(...all)),
          winners: fc.subarray(
            all.map((_, index) => `b${index + 1}`),
            { minLength: 1 },
          ),
          rakeBps: fc.constant(rakeBps),
        }),
      );
    const stakedIn = (stakes: Iterable<PoolStake>) =>
      [...stakes].reduce((sum, { amount }) => sum + amount, 0n);

    it('gives away the whole pool, and no more', () =>
      fc.assert(
        fc.property(pools, (pool) => {
          const { rake, payouts } = splitPool(pool);
          const total = payouts.reduce((sum, { payout }) => sum + payout, rake);
          expect(total).to.equal(stakedIn(pool.stakes));
          expect(rake * 10_000n <= stakedIn(pool.stakes) * BigInt(pool.rakeBps)).to.equal(true);
        }),
      ));

    it('gives away the whole pool after a rake in base units', () =>
      fc.assert(
        fc.property(pools, fc.bigInt(0n, 2n ** 80n), ({ stakes, winners }, some) => {
          const rake = some % (stakedIn(stakes) + 1n);
          const split = splitPool({ stakes, winners, rake });
          expect(split.rake).to.equal(rake);
          expect(split.payouts.reduce((sum, { payout }) => sum + payout, rake)).to.equal(stakedIn(stakes));
        }),
      ));

    it('pays each winner less than one unit more or less than the exact share', () =>
      fc.assert(
        fc.property(pools, (pool) => {
          const { rake, payouts } = splitPool(pool);
          const won = new Map([...pool.stakes].map(({ betId, amount }) => [betId, amount]));
          const weight = payouts.reduce((sum, { betId }) => sum + (won.get(betId) ?? 0n), 0n);
          const whole = stakedIn(pool.stakes) - rake;
          for (const { betId, payout } of payouts) {
            const error = payout * weight - whole * (won.get(betId) ?? 0n);
            expect(error > -weight && error < weight, betId).to.equal(true);
          }
        }),
      ));

    it('pays no larger stake less than a smaller one', () =>
      fc.assert(
        fc.property(pools, (pool) => {
          const { payouts } = splitPool(pool);
          const won = new Map([...pool.stakes].map(({ betId, amount }) => [betId, amount]));
          const byStake = [...payouts].sort((one, other) => {
            const difference = (won.get(one.betId) ?? 0n) - (won.get(other.betId) ?? 0n);
            return difference < 0n ? -1 : Number(difference > 0n);
          });
          byStake.forEach(({ betId, payout }, index) => {
            const smaller = byStake[index - 1];
            if (!smaller || won.get(smaller.betId) === won.get(betId)) return;
            expect(payout >= smaller.payout, betId).to.equal(true);
          });
        }),
      ));

    it('does not depend on any order', () =>
      fc.assert(
        fc.property(pools, fc.func(fc.nat()), (pool, rank) => {
          const shuffled = <Item>(items: readonly Item[]) =>
            [...items].sort((one, other) => rank(one) - rank(other));
          const other = { ...pool, stakes: shuffled([...pool.stakes]), winners: shuffled([...pool.winners]) };
          expect(splitPool(other)).to.deep.equal(splitPool(pool));
        }),
      ));
  });
});
