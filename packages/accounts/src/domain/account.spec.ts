import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import type { AccountEvent } from './account.events.ts';
import { type AccountCommand, account, accountStreamOf, parseAccountStream } from './account.ts';
import {
  adjustmentEntryId,
  callerKeyOf,
  cashOutHoldId,
  depositEntryId,
  earningsEntryId,
  rollbackEntryId,
  sessionHoldId,
  stakeHoldId,
} from './accountIds.ts';
import { encodeHolds } from './holds.ts';

const given = givenWhenThen(account);

const adjust = (ref: string, amount: bigint, note?: string) => ({
  entryId: adjustmentEntryId(ref),
  amount,
  reason: 'adjustment' as const,
  ...(note === undefined ? {} : { note }),
});
const credit = (ref: string, amount: bigint, note?: string): AccountCommand => ({
  type: 'CreditAccount',
  ...adjust(ref, amount, note),
});
const debit = (ref: string, amount: bigint, note?: string): AccountCommand => ({
  type: 'DebitAccount',
  ...adjust(ref, amount, note),
});
const credited = (
  ref: string,
  amount: bigint,
  available: bigint,
  held = 0n,
  note?: string,
): AccountEvent => ({
  type: 'AccountCredited',
  data: { ...adjust(ref, amount, note), available, held },
});
const debited = (ref: string, amount: bigint, available: bigint, held = 0n): AccountEvent => ({
  type: 'AccountDebited',
  data: { ...adjust(ref, amount), available, held },
});

const holdId = sessionHoldId('ses_1');
const request = { gameCode: 'dice', lockAmount: '40' };
const hold = (amount: bigint): AccountCommand => ({
  type: 'HoldFunds',
  holdId,
  amount,
  purpose: 'session',
  request,
});
const held = (amount: bigint): AccountEvent => ({
  type: 'FundsHeld',
  data: { holdId, amount, purpose: 'session', request },
});
const close = (payout: bigint): AccountCommand => ({ type: 'CloseHold', holdId, payout });
const closed = (heldAmount: bigint, payout: bigint): AccountEvent => ({
  type: 'HoldClosed',
  data: { holdId, held: heldAmount, payout },
});

describe('account: entries', () => {
  it('adds a credit to the available funds', () =>
    given(credited('a', 100n, 100n))
      .when(credit('b', 5n))
      .thenHappened(credited('b', 5n, 105n))
      .andAnswers({ outcome: 'booked', available: 105n, held: 0n }));

  it('makes no entry if nothing moves', () => {
    for (const command of [credit('a', 0n), debit('a', 0n)]) {
      expect(() => account.decide(account.initialState, command)).to.throw('an entry moves something');
    }
  });

  it('folds the zero entries that earlier releases made', () =>
    given(credited('a', 0n, 0n), credited('b', 5n, 5n))
      .when(debit('c', 5n))
      .thenHappened(debited('c', 5n, 0n)));

  it('takes a debit from the available funds, down to nothing', () =>
    given(credited('a', 100n, 100n))
      .when(debit('b', 100n))
      .thenHappened(debited('b', 100n, 0n))
      .andAnswers({ outcome: 'booked', available: 0n, held: 0n }));

  it('refuses a debit larger than what is available', () =>
    given(credited('a', 100n, 100n), held(40n))
      .when(debit('b', 61n))
      .thenRejects('accounts/insufficient_funds', { available: 60n, amount: 61n }));

  it('refuses a debit of an account without events', () =>
    given().when(debit('a', 1n)).thenRejects('accounts/insufficient_funds', { available: 0n, amount: 1n }));

  it('answers a repeat with the balances of the first time', () =>
    given(credited('a', 100n, 100n), held(40n), credited('b', 7n, 67n, 40n))
      .when(credit('a', 100n))
      .thenNothingHappened()
      .andReplays({ outcome: 'booked', available: 100n, held: 0n }));

  it('repeats a debit although the funds are gone', () =>
    given(credited('a', 100n, 100n), debited('b', 100n, 0n))
      .when(debit('b', 100n))
      .thenNothingHappened()
      .andReplays({ outcome: 'booked', available: 0n, held: 0n }));

  for (const [field, command] of [
    ['operation', debit('a', 99n, 'another')],
    ['amount', credit('a', 99n, 'another')],
    ['reason', credit('a', 100n, 'another')],
    ['reason', credit('a', 100n)],
  ] as const) {
    it(`names ${field} as the first difference of ${command.type} under a key used before`, () =>
      given(credited('a', 100n, 100n, 0n, 'promotion'))
        .when(command)
        .thenRejects('accounts/idempotency_conflict', { key: 'a', field }));
  }

  it('finds a conflict before it looks at the funds', () =>
    given(credited('a', 100n, 100n))
      .when(debit('a', 1_000n))
      .thenRejects('accounts/idempotency_conflict', { key: 'a', field: 'operation' }));

  it('keeps kinds of entries apart', () =>
    given(credited('a', 100n, 100n))
      .when({ type: 'CreditAccount', entryId: depositEntryId('a'), amount: 3n, reason: 'deposit' })
      .thenAnswers({ outcome: 'booked', available: 103n, held: 0n }));

  it('treats an id of another kind than the reason as a bug', () => {
    const command: AccountCommand = {
      type: 'CreditAccount',
      entryId: depositEntryId('a'),
      amount: 3n,
      reason: 'adjustment',
    };
    expect(() => account.decide(account.initialState, command)).to.throw(/not an id for the reason/);
  });

  it('names the part of an id that the caller chose', () => {
    expect(callerKeyOf(adjustmentEntryId('r:1'))).to.equal('r:1');
    expect(callerKeyOf(earningsEntryId('k'))).to.equal('k');
    expect(callerKeyOf(rollbackEntryId('ses_1', 'u:1'))).to.equal('u:1');
  });
});

describe('account: holds', () => {
  it('sets the amount aside', () =>
    given(credited('a', 100n, 100n))
      .when(hold(40n))
      .thenHappened(held(40n))
      .andAnswers({ outcome: 'held', available: 60n, held: 40n }));

  it('makes no hold of zero', () =>
    given().when(hold(0n)).thenHappened(held(0n)).andAnswers({ outcome: 'held', available: 0n, held: 0n }));

  it('makes a hold of zero for sessions only', () => {
    for (const [holdId, purpose] of [
      [stakeHoldId('p', 'b'), 'stake'],
      [cashOutHoldId('r'), 'cashout'],
    ] as const) {
      const command: AccountCommand = { type: 'HoldFunds', holdId, amount: 0n, purpose, request: {} };
      expect(() => account.decide(account.initialState, command)).to.throw('a hold keeps something apart');
    }
  });

  it('answers with an existing hold and the place of its event, as something to be confirmed', () =>
    given(credited('a', 100n, 100n), held(40n))
      .when(hold(41n))
      .thenNothingHappened()
      .andAnswers({
        outcome: 'alreadyHeld',
        hold: { amount: 40n, heldAtRevision: 1 },
      }));

  it('says what is available if that is too little', () =>
    given(credited('a', 100n, 100n))
      .when(hold(101n))
      .thenNothingHappened()
      .andAnswers({ outcome: 'insufficient', available: 100n }));

  it('never holds again under the id of a closed hold', () =>
    given(credited('a', 100n, 100n), held(40n), closed(40n, 40n))
      .when(hold(40n))
      .thenNothingHappened()
      .andAnswers({ outcome: 'closed' }));

  it('does not let held funds be held twice', () =>
    given(credited('a', 100n, 100n), held(40n))
      .when({
        type: 'HoldFunds',
        holdId: stakeHoldId('p', 'b'),
        amount: 61n,
        purpose: 'stake',
        request: {},
      })
      .thenNothingHappened()
      .andAnswers({ outcome: 'insufficient', available: 60n }));

  for (const payout of [0n, 40n, 90n]) {
    it(`makes a payout of ${payout} available when it closes`, () => {
      given(credited('a', 100n, 100n), held(40n))
        .when(close(payout))
        .thenHappened(closed(40n, payout))
        .andAnswers({ outcome: 'holdClosed', payout });
      given(credited('a', 100n, 100n), held(40n), closed(40n, payout))
        .when(credit('b', 1n))
        .thenAnswers({ outcome: 'booked', available: 61n + payout, held: 0n });
    });
  }

  it('repeats a close', () =>
    given(credited('a', 100n, 100n), held(40n), closed(40n, 90n))
      .when(close(90n))
      .thenNothingHappened()
      .andReplays({ outcome: 'holdClosed', payout: 90n }));

  it('treats a different payout, or a hold that never existed, as a bug', () => {
    const history = [credited('a', 100n, 100n), held(40n), closed(40n, 90n)];
    const after = history.reduce(account.evolve, account.initialState);
    expect(() => account.decide(after, close(89n))).to.throw(/another payout/);
    expect(() => account.decide(account.initialState, close(0n))).to.throw(/never held/);
  });

  it('treats an id of another kind than the purpose as a bug', () => {
    const command: AccountCommand = {
      type: 'HoldFunds',
      holdId: cashOutHoldId('r'),
      amount: 0n,
      purpose: 'session',
      request,
    };
    expect(() => account.decide(account.initialState, command)).to.throw(/not an id for the purpose/);
  });
});

describe('account: what comes from outside and goes back', () => {
  const deposited = (ref: string, amount: bigint, available: bigint, keptApart = 0n): AccountEvent => ({
    type: 'AccountCredited',
    data: { entryId: depositEntryId(ref), amount, reason: 'deposit', available, held: keptApart },
  });
  const cashingOut = (ref: string, amount: bigint): AccountEvent => ({
    type: 'FundsHeld',
    data: { holdId: cashOutHoldId(ref), amount, purpose: 'cashout', request: { ref } },
  });
  const cashedOut = (ref: string, amount: bigint, payout: bigint): AccountEvent => ({
    type: 'HoldClosed',
    data: { holdId: cashOutHoldId(ref), held: amount, payout },
  });
  const totalsAfter = (...history: readonly AccountEvent[]) => {
    const { deposited: total, withdrawn } = history.reduce(account.evolve, account.initialState);
    return { deposited: total, withdrawn };
  };

  it('is the sum of the deposits and of the cash-outs that left', () =>
    expect(
      totalsAfter(
        deposited('d1', 100n, 100n),
        deposited('d2', 5n, 105n),
        cashingOut('c1', 40n),
        cashedOut('c1', 40n, 0n),
        cashingOut('c2', 3n),
        cashedOut('c2', 3n, 0n),
      ),
    ).to.deep.equal({ deposited: 105n, withdrawn: 43n }));

  it('is not what a cash-out holds, or has given back', () =>
    expect(
      totalsAfter(
        deposited('d1', 100n, 100n),
        cashingOut('c1', 40n),
        cashedOut('c1', 40n, 40n),
        cashingOut('c2', 7n),
      ),
    ).to.deep.equal({ deposited: 100n, withdrawn: 0n }));

  it('does not include what stays inside: adjustments and play', () =>
    expect(
      totalsAfter(credited('a', 100n, 100n), debited('b', 10n, 90n), held(40n), closed(40n, 0n)),
    ).to.deep.equal({
      deposited: 0n,
      withdrawn: 0n,
    }));
});

describe('account: stream and snapshot', () => {
  const appId = 'app_01h455vb4pex5vsknk084sn02q';
  const userId = 'usr_01h455vb4pex5vsknk084sn02r';

  it('names an account by user and currency, and reads the name back', () => {
    const stream = accountStreamOf({ environment: 'live', appId, userId, currencyId: 12 });
    expect(stream).to.equal(`account-live.${appId}.${userId}.12`);
    expect(parseAccountStream(stream)).to.deep.equal({ environment: 'live', appId, userId, currencyId: 12 });
  });

  it('does not read any other name as an account', () => {
    for (const name of [
      `playSession-live.${appId}.${userId}.12`,
      `account-live.${appId}.${userId}`,
      `account-live.${appId}.${userId}.012`,
      `account-live.${appId}.${appId}.12`,
      'account',
    ]) {
      expect(parseAccountStream(name), name).to.equal(undefined);
    }
  });

  it('comes back from a snapshot as it went in', () => {
    const history = [
      credited('a', 100n, 100n, 0n, 'promotion'),
      held(40n),
      closed(40n, 90n),
      debited('b', 1n, 149n),
      {
        type: 'FundsHeld',
        data: { holdId: stakeHoldId('p', 'b'), amount: 9n, purpose: 'stake', request: { poolId: 'p' } },
      } as const,
      {
        type: 'AccountCredited',
        data: { entryId: depositEntryId('d'), amount: 5n, reason: 'deposit', available: 145n, held: 9n },
      } as const,
      {
        type: 'FundsHeld',
        data: { holdId: cashOutHoldId('c'), amount: 4n, purpose: 'cashout', request: { ref: 'c' } },
      } as const,
      { type: 'HoldClosed', data: { holdId: cashOutHoldId('c'), held: 4n, payout: 0n } } as const,
    ];
    const state = history.reduce(account.evolve, account.initialState);
    const { encode, decode } = account.snapshot ?? expect.fail('accounts have snapshots');
    const { facts, bytes = expect.fail('holds are bytes') } = encode(state);
    const stored = { facts: JSON.parse(JSON.stringify(facts)), bytes: Uint8Array.from(bytes) };
    const restored = decode(stored);
    // As a store does that uses the memory again.
    stored.bytes.fill(0xff);

    expect(plain(restored)).to.deep.equal(plain(state));
    expect(restored).to.include({ deposited: 5n, withdrawn: 4n });
    expect(account.sizeOf(state)).to.be.greaterThan(account.sizeOf(account.initialState));
  });

  const plain = ({ entries, holds, ...rest }: typeof account.initialState) => ({
    ...rest,
    entries: entries.toObject(),
    holds: encodeHolds(holds),
  });
});
