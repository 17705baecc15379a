import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import {
  attempt,
  confirm,
  confirmed,
  deposit,
  expired,
  fail,
  failed,
  onChain,
  recordExpired,
  recordSigned,
  recordSubmitted,
  request,
  requested,
  signed,
  submitted,
  withdrawal,
} from '../testing/moveBuilders.ts';
import { move } from './move.ts';

const given = givenWhenThen(move);
const terms = deposit();

describe('a requested move', () => {
  const asRequested = { status: 'requested', terms, expired: undefined } as const;

  it('keeps everything that was requested', () =>
    given().when(request()).thenHappened(requested()).andAnswers(asRequested));

  it('has a positive amount', () =>
    expect(() => move.decide(move.initialState, request(deposit({ amount: 0n })))).to.throw(
      'the amount of a move is positive',
    ));

  for (const [when, ...history] of [
    ['at once', requested()],
    ['while it is in flight', requested(), signed(1), submitted(1)],
    ['after its end', requested(), signed(1), confirmed(1)],
    ['after it has failed', requested(), failed('moves/source_frozen')],
  ] as const) {
    it(`repeats its answer when requested again: ${when}`, () =>
      given(...history)
        .when(request())
        .thenNothingHappened()
        .andReplays(asRequested));
  }

  it('is the same request even when what we add to it differs', () => {
    const from = { walletId: 'wlt_next', ownerId: 'scp_1', address: 'address-next' };
    const again = deposit({ requestedAt: '2027-01-01T00:00:00.000Z', from, toAddress: 'address-next' });
    given(requested()).when(request(again)).thenNothingHappened().andReplays(asRequested);
  });

  it('is refused with different content, naming the first field that differs', () => {
    const others = [
      ['operation', { operation: 'cashOut' }],
      ['userId', { userId: 'usr_2' }],
      ['currency', { currencyId: 2 }],
      ['amount', { amount: 2n }],
    ] as const;
    others.forEach(([field], index) => {
      // Each row breaks this field and every later one.
      const change = Object.assign({}, ...others.slice(index).map(([, broken]) => broken));
      given(requested())
        .when(request(deposit(change)))
        .thenRejects('treasury/idempotency_conflict', { key: 'ref-1', field });
    });
  });

  it('of a withdrawal is refused with a code of wallets', () => {
    const others = [
      ['userId', { userId: 'usr_2' }],
      ['toAddress', { toAddress: 'address-2' }],
      ['amount', { amount: 2n }],
      ['currency', { currencyId: 2 }],
      ['mint', { currencyId: null, mint: 'mint-2' }],
    ] as const;
    others.forEach(([field], index) => {
      // The last two exclude each other: a request names its currency or its mint.
      const last = field === 'mint' ? [others[index]] : others.slice(index, -1);
      const change = Object.assign({}, ...last.map((row) => row?.[1]));
      given(requested(withdrawal()))
        .when(request(withdrawal(change)))
        .thenRejects('wallets/idempotency_conflict', { key: 'ref-1', field });
    });
  });

  it('of a withdrawal is the same by mint, whether or not the app has a currency for it', () => {
    const before = withdrawal({ currencyId: null });
    given(requested(before))
      .when(request(withdrawal()))
      .thenNothingHappened()
      .andReplays({ status: 'requested', terms: before, expired: undefined });
  });
});

describe('a move of a wallet that has ended', () => {
  const refused = { ...request(), failsWith: 'moves/wallet_unavailable' } as const;

  it('fails with its request: it is never signed', () =>
    given()
      .when(refused)
      .thenHappened(requested(), failed('moves/wallet_unavailable'))
      .andAnswers({ status: 'requested', terms, expired: undefined }));

  it('does not fail a move requested earlier', () => {
    for (const history of [[requested()], [requested(), signed(1)], [requested(), signed(1), confirmed(1)]]) {
      given(...history)
        .when(refused)
        .thenNothingHappened();
    }
    given(requested(deposit({ amount: 2n })))
      .when(refused)
      .thenRejects('treasury/idempotency_conflict', { key: 'ref-1', field: 'amount' });
  });
});

describe('a move that is carried out', () => {
  it('is signed first', () =>
    given(requested())
      .when(recordSigned(1))
      .thenHappened(signed(1))
      .andAnswers({ status: 'signed', terms, attempt: attempt(1) }));

  it('is signed by one of two drivers at once: the other learns what to send', () =>
    given(requested(), signed(1))
      .when(recordSigned(1, 'signature-of-another'))
      .thenNothingHappened()
      .andAnswers({ status: 'signed', terms, attempt: attempt(1) }));

  it('is submitted once', () => {
    given(requested(), signed(1)).when(recordSubmitted(1)).thenHappened(submitted(1));
    given(requested(), signed(1), submitted(1)).when(recordSubmitted(1)).thenNothingHappened();
  });

  it('is signed again only after an attempt that expired', () => {
    given(requested(), signed(1)).when(recordSigned(2)).thenNothingHappened();
    given(requested(), signed(1), submitted(1)).when(recordSigned(2)).thenNothingHappened();
    given(requested(), signed(1), expired(1)).when(recordSigned(2)).thenHappened(signed(2));
    given(requested(), signed(1), expired(1)).when(recordSigned(1)).thenNothingHappened();
    given(requested()).when(recordSigned(2)).thenNothingHappened();
  });

  it('has attempts that expire once, whether or not a node accepted them', () => {
    given(requested(), signed(1)).when(recordExpired(1)).thenHappened(expired(1));
    given(requested(), signed(1), submitted(1))
      .when(recordExpired(1))
      .thenHappened(expired(1))
      .andAnswers({ status: 'requested', terms, expired: attempt(1) });
    given(requested(), signed(1), expired(1), signed(2)).when(recordExpired(1)).thenNothingHappened();
    given(requested(), signed(1), expired(1), signed(2)).when(recordSubmitted(1)).thenNothingHappened();
  });

  it('is confirmed from any state', () => {
    given(requested(), signed(1)).when(confirm(1)).thenHappened(confirmed(1));
    given(requested(), signed(1), submitted(1))
      .when(confirm(1))
      .thenHappened(confirmed(1))
      .andAnswers({ status: 'confirmed', terms, ...onChain(1) });
  });

  it('names at its end the wallet that admitted it', () => {
    const admittedBy = { walletId: 'wlt_user', ownerId: 'scp_1' };
    const ends = [
      [fail('moves/source_frozen'), failed('moves/source_frozen')],
      [confirm(1), confirmed(1)],
    ] as const;
    for (const [command, end] of ends) {
      const { events } = move.decide(
        move.evolve(move.initialState, requested(deposit({ admittedBy }))),
        command,
      );
      expect(events.map(({ data }) => data)).to.deep.equal([{ ...end.data, admittedBy }]);
    }
  });

  it('is confirmed by a transaction that a restored log has lost', () => {
    given(requested()).when(confirm(1)).thenHappened(confirmed(1));
    given(requested(), signed(1), expired(1)).when(confirm(2)).thenHappened(confirmed(2));
  });

  it('fails while nothing may land', () => {
    given(requested())
      .when(fail('moves/source_frozen'))
      .thenHappened(failed('moves/source_frozen'))
      .andAnswers({ status: 'failed', terms, code: 'moves/source_frozen', onChain: null });
    given(requested(), signed(1), expired(1))
      .when(fail('moves/never_landed'))
      .thenHappened(failed('moves/never_landed'));
  });

  it('does not fail while an attempt may land, unless that attempt failed on the chain', () => {
    const inFlight = given(requested(), signed(1), expired(1), signed(2), submitted(2));
    inFlight.when(fail('moves/source_frozen')).thenNothingHappened();
    inFlight.when(fail('moves/failed_on_chain', 1)).thenNothingHappened();
    inFlight.when(fail('moves/failed_on_chain', 2)).thenHappened(failed('moves/failed_on_chain', 2));
  });

  it('ends once', () => {
    for (const end of [confirmed(1), failed('moves/failed_on_chain', 1)]) {
      const ended = given(requested(), signed(1), submitted(1), end);
      for (const late of [
        recordSigned(2),
        recordSubmitted(1),
        recordExpired(1),
        fail('moves/never_landed'),
      ]) {
        ended.when(late).thenNothingHappened();
      }
    }
    given(requested(), signed(1), confirmed(1)).when(confirm(1)).thenNothingHappened();
  });

  it('never hides that money moved which should not have moved', () => {
    const wrong = [
      [[requested(), signed(1), confirmed(1)], confirm(2)],
      [[requested(), signed(1)], confirm(2)],
      [[requested(), failed('moves/never_landed')], confirm(1)],
      [[], recordSigned(1)],
    ] as const;
    for (const [history, command] of wrong) {
      const state = history.reduce(move.evolve, move.initialState);
      expect(() => move.decide(state, command)).to.throw(
        /another transaction|twice|failed for good|requested before/,
      );
    }
  });
});
