/** Every row and code of the contract's section Custody, as far as it is decided on the pool. */
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import { reject } from '../errors.ts';
import {
  bet,
  CONFIRM_BY,
  confirm,
  confirmed,
  last,
  lock,
  locked,
  POOL_ID,
  pays,
  refund,
  refunded,
  release,
  released,
  settle,
  settled,
  user,
} from '../testing/poolBuilders.ts';
import type { PoolEvent } from './pool.events.ts';
import { MAX_STAKES } from './pool.resource.ts';
import { MAX_RELEASES, pool, poolStream } from './pool.ts';

const given = givenWhenThen(pool);
const MOST = 2n ** 64n - 1n;

const lockedOf = (stake: number, amount: bigint) => ({
  outcome: 'locked' as const,
  betId: bet(stake),
  userId: user(stake),
  currency: 1,
  amount,
  confirmBy: CONFIRM_BY,
});
const confirmedOf = (stake: number, amount: bigint) => ({
  outcome: 'confirmed' as const,
  betId: bet(stake),
  userId: user(stake),
  currency: 1,
  amount,
});
const lost = (...refusal: Parameters<typeof reject>) =>
  ({ outcome: 'lost', refusal: reject(...refusal) }) as const;
const content = (stake: number, amount: bigint) => ({ betId: bet(stake), userId: user(stake), amount });

const threeConfirmed = [
  locked(1, 100n),
  locked(2, 100n),
  locked(3, 100n),
  confirmed(1, 100n),
  confirmed(2, 100n),
  confirmed(3, 100n),
];
const settledForTwo = settled({
  staked: 300n,
  rake: 15n,
  payouts: [
    [2, 185n],
    [1, 100n],
  ],
  released: [],
  credits: 3,
  last: last(3),
});
const settleForTwo = { rake: 15n, payouts: [pays(2, 185n), pays(1, 100n)] };
const answerForTwo = {
  outcome: 'settled',
  staked: 300n,
  rake: 15n,
  paid: 285n,
  payouts: settleForTwo.payouts,
  released: [] as string[],
  revision: 6,
  credits: 3,
} as const;
const refundedTwo = refunded({ refunded: 200n, reason: 'rain', credits: 2, last: last(2) });

describe('pool: lock', () => {
  it('opens the pool with its first stake, and numbers the next', () => {
    given().when(lock(1, 100n)).thenHappened(locked(1, 100n)).andAnswers(lockedOf(1, 100n));
    given(locked(1, 100n)).when(lock(2, MOST)).thenHappened(locked(2, MOST)).andAnswers(lockedOf(2, MOST));
  });

  for (const [what, since] of [
    ['at once', []],
    ['once it is confirmed', [confirmed(1, 100n)]],
    ['in a refunded pool', [refunded({ refunded: 100n, credits: 1, last: last(1) })]],
    [
      'in a settled pool',
      [
        confirmed(1, 100n),
        settled({ staked: 100n, rake: 100n, payouts: [], released: [], credits: 1, last: last(1) }),
      ],
    ],
  ] as const) {
    it(`is answered again as the first time ${what}`, () =>
      given(locked(1, 100n), ...since)
        .when(lock(1, 100n, { lockedAt: CONFIRM_BY, confirmBy: '2026-01-31T13:00:00.000Z' }))
        .thenNothingHappened()
        .andReplays(lockedOf(1, 100n)));
  }

  it('is confirmed current before it is repeated: another process may have released it', () => {
    const state = pool.evolve(pool.initialState, locked(1, 100n));
    expect(pool.decide(state, lock(1, 100n))).to.include({ replayed: true, revocable: true });
  });

  for (const [what, since] of [
    ['was released', [released(1, 100n)]],
    [
      'was released by the settlement',
      [settled({ staked: 0n, rake: 0n, payouts: [], released: [1], credits: 1, last: last(1) })],
    ],
  ] as const) {
    it(`is over once the stake ${what}`, () =>
      given(locked(1, 100n), ...since)
        .when(lock(1, 100n))
        .thenNothingHappened()
        .andAnswers({ outcome: 'alreadyReleased' }));
  }

  for (const [field, change] of [
    ['userId', { userId: user(2), currencyId: 2, amount: 1n }],
    ['currency', { currencyId: 2, amount: 1n }],
    ['amount', { amount: 1n }],
  ] as const) {
    for (const since of [
      [],
      [released(1, 100n)],
      [refunded({ refunded: 100n, credits: 1, last: last(1) })],
    ]) {
      it(`is lost to the first stake of the bet, naming ${field}, after ${since.length} more events`, () =>
        given(locked(1, 100n), ...since)
          .when(lock(1, 100n, change))
          .thenNothingHappened()
          .andAnswers(lost('custody/idempotency_conflict', { key: bet(1), field })));
    }
  }

  it('is lost to a closed pool, to another currency and to a full pool', () => {
    given(locked(1, 100n), locked(2, 100n), refundedTwo)
      .when(lock(3, 1n, { currencyId: 2 }))
      .thenNothingHappened()
      .andAnswers(lost('custody/pool_closed', { status: 'refunded' }));
    given(...threeConfirmed, settledForTwo)
      .when(lock(4, 1n))
      .thenNothingHappened()
      .andAnswers(lost('custody/pool_closed', { status: 'settled' }));
    given(locked(1, 100n), released(1, 100n))
      .when(lock(2, 1n, { currencyId: 2 }))
      .thenNothingHappened()
      .andAnswers(lost('custody/currency_mismatch', { currency: 1 }));
    const full = Array.from({ length: MAX_STAKES }, (_, place) =>
      locked(place + 1, 1n, { betId: `b${place}`, userId: user(1) }),
    ).reduce(pool.evolve, pool.initialState);
    expect(pool.decide(full, lock(1, 1n))).to.deep.equal({ events: [], answer: lost('custody/pool_full') });
    expect(pool.decide(full, lock(1, 1n, { betId: 'b7' }))).to.include({ replayed: true });
  });
});

describe('pool: confirm', () => {
  it('confirms once, also after confirmBy, and repeats its answer on a closed pool', () => {
    given(locked(1, 100n)).when(confirm(1)).thenHappened(confirmed(1, 100n)).andAnswers(confirmedOf(1, 100n));
    given(...threeConfirmed, settledForTwo)
      .when(confirm(2))
      .thenNothingHappened()
      .andReplays(confirmedOf(2, 100n));
  });

  it('needs a pool and a bet', () => {
    given().when(confirm(1)).thenRejects('custody/pool_not_found');
    given(locked(1, 100n)).when(confirm(2)).thenRejects('custody/bet_not_found');
    given(locked(1, 1n), locked(2, 199n), refundedTwo).when(confirm(3)).thenRejects('custody/bet_not_found');
  });

  it('comes too late for a released stake, whoever released it', () => {
    given(locked(1, 100n), released(1, 100n)).when(confirm(1)).thenRejects('custody/lock_released');
    given(
      locked(1, 100n),
      settled({ staked: 0n, rake: 0n, payouts: [], released: [1], credits: 1, last: last(1) }),
    )
      .when(confirm(1))
      .thenRejects('custody/lock_released');
  });

  it('comes too late for a refunded pool', () =>
    given(locked(1, 100n), locked(2, 100n), refundedTwo)
      .when(confirm(1))
      .thenRejects('custody/pool_closed', { status: 'refunded' }));
});

describe('pool: settle', () => {
  const given3 = given(...threeConfirmed);

  it('pays out, and what is not named is lost to the others', () =>
    given3.when(settle(settleForTwo)).thenHappened(settledForTwo).andAnswers(answerForTwo));

  it('may have no winner if all is rake', () =>
    given3
      .when(settle({ rake: 300n, payouts: [pays(3, 0n)] }))
      .thenHappened(
        settled({ staked: 300n, rake: 300n, payouts: [[3, 0n]], released: [], credits: 3, last: last(3) }),
      )
      .andAnswers({ ...answerForTwo, rake: 300n, paid: 0n, payouts: [pays(3, 0n)] }));

  it('releases what is not confirmed, and passes over what was released before', () =>
    given(locked(1, 100n), locked(2, 40n), locked(3, 50n), confirmed(1, 100n), released(3, 50n))
      .when(settle({ payouts: [pays(1, 100n)] }))
      .thenHappened(
        settled({ staked: 100n, rake: 0n, payouts: [[1, 100n]], released: [2], credits: 2, last: last(2) }),
      )
      .andAnswers({
        outcome: 'settled',
        staked: 100n,
        rake: 0n,
        paid: 100n,
        payouts: [pays(1, 100n)],
        released: [bet(2)],
        revision: 5,
        credits: 2,
      }));

  it('closes no hold of a pool whose stakes were all released', () =>
    given(locked(1, 100n), released(1, 100n))
      .when(settle())
      .thenHappened(settled({ staked: 0n, rake: 0n, payouts: [], released: [], credits: 0 }))
      .andAnswers({ ...answerForTwo, staked: 0n, rake: 0n, paid: 0n, payouts: [], revision: 2, credits: 0 }));

  it('is answered again as the first time, with payouts in another order and with or without zeros', () => {
    for (const payouts of [
      [pays(2, 185n), pays(1, 100n)],
      [pays(1, 100n), pays(2, 185n)],
      [pays(3, 0n), pays(1, 100n), pays(2, 185n)],
    ]) {
      given(...threeConfirmed, settledForTwo)
        .when(settle({ rake: 15n, payouts }))
        .thenNothingHappened()
        .andReplays(answerForTwo);
    }
  });

  for (const [field, change] of [
    ['currency', { currencyId: 2, rake: 1n, payouts: [] }],
    ['rake', { rake: 1n, payouts: [] }],
    ['payouts', { payouts: [] }],
    ['payouts', { payouts: [pays(1, 101n), pays(2, 184n)] }],
    ['payouts', { payouts: [pays(1, 100n), pays(2, 185n), pays(2, 185n)] }],
    ['payouts', { payouts: [pays(1, 100n), pays(2, 185n), pays(4, 0n)] }],
    ['payouts', { payouts: [pays(1, 100n), pays(2, 185n, user(1))] }],
    ['payouts', { payouts: [pays(1, 100n), pays(2, 185n), pays(3, 1n)] }],
  ] as const) {
    it(`with other content names ${field}: ${change.payouts.map(({ payout }) => payout).join('+')}`, () =>
      given(...threeConfirmed, settledForTwo)
        .when(settle({ ...settleForTwo, ...change }))
        .thenRejects('custody/idempotency_conflict', { key: POOL_ID, field }));
  }

  it('needs an open pool of this currency', () => {
    given().when(settle()).thenRejects('custody/pool_not_found');
    given(locked(1, 100n), locked(2, 100n), refundedTwo)
      .when(settle({ currencyId: 2 }))
      .thenRejects('custody/pool_closed', { status: 'refunded' });
    given3
      .when(settle({ currencyId: 2, payouts: [pays(9, 1n)] }))
      .thenRejects('custody/currency_mismatch', { currency: 1 });
  });

  for (const [code, payouts, betId] of [
    ['custody/duplicate_payout', [pays(1, 1n), pays(1, 0n), pays(9, 1n)], bet(1)],
    ['custody/unknown_bet', [pays(1, 1n), pays(9, 1n), pays(1, 1n)], bet(9)],
    ['custody/unknown_bet', [pays(1, 300n, user(2))], bet(1)],
    ['custody/bet_not_confirmed', [pays(4, 1n), pays(9, 1n)], bet(4)],
    ['custody/bet_not_confirmed', [pays(5, 0n)], bet(5)],
  ] as const) {
    it(`refuses a payout before any sum, in the order of the request: ${code} ${betId}`, () =>
      given(...threeConfirmed, locked(4, 50n), locked(5, 50n), released(5, 50n))
        .when(settle({ rake: MOST, payouts }))
        .thenRejects(code, { betId }));
  }

  for (const [what, rake, paid] of [
    ['one too few', 15n, 284n],
    ['one too many', 15n, 286n],
    ['a rake above the pool', 301n, 0n],
    ['the largest rake', MOST, 300n],
  ] as const) {
    it(`keeps to the sum: ${what}`, () =>
      given3
        .when(settle({ rake, payouts: [pays(1, paid)] }))
        .thenRejects('custody/conservation_violated', { staked: 300n, rake, paid }));
  }

  it('adds the largest amounts without overflow', () => {
    const stakes = [1, 2, 3].flatMap((stake) => [locked(stake, MOST), confirmed(stake, MOST)]);
    const payouts = [pays(1, MOST), pays(2, MOST)];
    given(...stakes)
      .when(settle({ rake: MOST - 1n, payouts }))
      .thenRejects('custody/conservation_violated', {
        staked: 3n * MOST,
        rake: MOST - 1n,
        paid: 2n * MOST,
      });
    given(...stakes)
      .when(settle({ rake: MOST, payouts }))
      .thenHappened(
        settled({
          staked: 3n * MOST,
          rake: MOST,
          payouts: [
            [1, MOST],
            [2, MOST],
          ],
          released: [],
          credits: 3,
          last: last(3),
        }),
      )
      .andAnswers({ ...answerForTwo, staked: 3n * MOST, rake: MOST, paid: 2n * MOST, payouts });
  });

  it('of 20,000 stakes fits one append with payouts of 20 digits', () => {
    const payouts = Array.from({ length: MAX_STAKES }, (_, place): [number, bigint] => [place + 1, MOST]);
    const { data } = pool.codec.encode(
      settled({
        staked: MOST * 20_000n,
        rake: 0n,
        payouts,
        released: [],
        credits: MAX_STAKES,
        last: last(1),
      }),
    );
    expect(data.length).to.be.below(1024 * 1024 - 10_000);
  });
});

describe('pool: refund', () => {
  const answer = {
    outcome: 'refunded',
    refunds: [content(1, 100n), content(2, 100n)],
    revision: 4,
    credits: 2,
  } as const;
  const stakes: readonly PoolEvent[] = [locked(1, 100n), locked(2, 100n), locked(3, 7n), released(3, 7n)];

  it('gives every stake back, confirmed or not, that was not released', () =>
    given(...stakes)
      .when(refund('rain'))
      .thenHappened(refundedTwo)
      .andAnswers(answer));

  it('is answered again as the first time; another reason is other content', () => {
    given(...stakes, refundedTwo)
      .when(refund('rain'))
      .thenNothingHappened()
      .andReplays(answer);
    for (const reason of [undefined, 'sun']) {
      given(...stakes, refundedTwo)
        .when(refund(reason))
        .thenRejects('custody/idempotency_conflict', { key: POOL_ID, field: 'reason' });
    }
  });

  it('needs a pool that is not settled', () => {
    given().when(refund()).thenRejects('custody/pool_not_found');
    given(...threeConfirmed, settledForTwo)
      .when(refund())
      .thenRejects('custody/pool_closed', { status: 'settled' });
  });
});

describe('pool: release', () => {
  const justBefore = '2026-01-31T12:14:59.999Z';

  it('releases what is not confirmed by confirmBy, and never before', () => {
    const stakes = [locked(1, 100n), locked(2, 7n), locked(3, 1n, { confirmBy: '2026-01-31T12:15:00.001Z' })];
    given(...stakes, confirmed(1, 100n))
      .when(release())
      .thenHappened(released(2, 7n))
      .andAnswers({ outcome: 'released', released: [content(2, 7n)], areAll: true });
    given(...stakes)
      .when(release(justBefore))
      .thenNothingHappened()
      .andAnswers({ outcome: 'released', released: [], areAll: true });
  });

  it('is only made more patient by an age', () => {
    const none = { outcome: 'released', released: [], areAll: true } as const;
    given(locked(1, 7n)).when(release(justBefore, 60)).thenNothingHappened().andAnswers(none);
    given(locked(1, 7n)).when(release(CONFIRM_BY, 901)).thenNothingHappened().andAnswers(none);
    given(locked(1, 7n)).when(release(CONFIRM_BY, 900)).thenHappened(released(1, 7n));
  });

  it('finds nothing in an absent or closed pool', () => {
    const none = { outcome: 'released', released: [], areAll: true } as const;
    given().when(release()).thenNothingHappened().andAnswers(none);
    given(locked(1, 100n), locked(2, 100n), refundedTwo)
      .when(release())
      .thenNothingHappened()
      .andAnswers(none);
  });

  it('takes as many as one append can carry, and says that there are more', () => {
    const crowded = Array.from({ length: MAX_RELEASES + 1 }, (_, place) =>
      locked(place + 1, 1n, { betId: 'b'.repeat(60) + String(1_000 + place), userId: user(1) }),
    ).reduce(pool.evolve, pool.initialState);
    const { events, answer } = pool.decide(crowded, release());
    expect(events).to.have.length(MAX_RELEASES);
    expect(answer).to.include({ areAll: false });
    const bytes = events.reduce((sum, event) => sum + pool.codec.encode(event).data.length, 0);
    expect(bytes + MAX_RELEASES * 400).to.be.below(1024 * 1024);
    const after = events.reduce(pool.evolve, crowded);
    expect(pool.decide(after, release()).events).to.have.length(1);
  });
});

describe('pool: stream', () => {
  it('belongs to an app in one environment', () =>
    expect(poolStream('test', 'app_01jee1wzwqeh1rx3w2d3k4m5n6', 'round-1')).to.equal(
      'pool-test.app_01jee1wzwqeh1rx3w2d3k4m5n6.round-1',
    ));
});
