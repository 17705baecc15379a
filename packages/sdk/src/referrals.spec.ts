import { expect } from 'chai';
import { answers, backendOf, failureOf, losesTheReply, refuses } from './testing/scriptedService.ts';

const booked = { idemKey: 'k', userId: 'usr_a', currency: 2, amount: '10', balance: '5' };

describe('a referrals call of the backend client', () => {
  it('sends amounts as text and reads them as bigint', async () => {
    const part = { level: 1, userId: 'usr_b', bps: 500 };
    const { client, sent } = backendOf([
      answers({ idemKey: 'k', distributed: [{ ...part, amount: '5' }], remainder: '95', withheld: [] }),
    ]);
    const request = { idemKey: 'k', userId: 'usr_a', currency: 2, levels: [500] };
    expect(await client.referrals.distribute({ ...request, amount: 100n })).to.deep.equal({
      idemKey: 'k',
      distributed: [{ ...part, amount: 5n }],
      remainder: 95n,
      withheld: [],
      replayed: false,
    });
    expect(sent.map(({ method, path, body }) => [method, path, body])).to.deep.equal([
      ['POST', '/v1/referrals/distribute', { ...request, amount: '100' }],
    ]);
  });

  it('is sent again under one key until it is answered, and says when it had acted before', async () => {
    const { client, sent } = backendOf([
      losesTheReply,
      refuses(503, 'service/outcome_unknown'),
      answers(booked, 201, { 'idempotency-replayed': 'true' }),
    ]);
    const answer = await client.referrals.payout({ userId: 'usr_a', currency: 2, amount: 10n });
    expect(answer).to.deep.equal({ ...booked, amount: 10n, balance: 5n, replayed: true });
    const keys = new Set(sent.map(({ body }) => JSON.stringify(body)));
    expect(keys.size).to.equal(1);
    expect([...keys][0]).to.match(/"idemKey":"[0-9a-f-]{36}"/);
  });

  it('leaves out an amount that is not given, and leaves a refusal to the caller', async () => {
    const { client, sent } = backendOf([
      refuses(409, 'referrals/insufficient_earnings', { balance: '0', amount: null }),
    ]);
    const withdrawal = { idemKey: 'w', userId: 'usr_a', currency: 2 };
    expect(await failureOf(client.referrals.withdraw(withdrawal))).to.deep.include({
      code: 'referrals/insufficient_earnings',
      outcome: 'refused',
    });
    expect(sent.map(({ body }) => body)).to.deep.equal([withdrawal]);
  });

  it('reads a page of history', async () => {
    const item = {
      kind: 'withdrawal',
      idemKey: 'w',
      currency: 2,
      amount: '3',
      at: '2030-01-01T12:00:00.000Z',
    };
    const { client } = backendOf([answers({ items: [item], nextCursor: 'abc' })]);
    const { items, nextCursor } = await client.referrals.history({ userId: 'usr_a' });
    expect(items).to.have.length(1);
    expect(items[0]).to.deep.include({ ...item, amount: 3n });
    expect(nextCursor).to.equal('abc');
  });
});
