/** Referrals as apps and operators see them: what was just written is there. Source: contract, Referrals. */
import { requireStatus, verdict } from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { CHIP, useReferrals } from './testing/useReferrals.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const page = z.object({
  items: z.array(z.record(z.string(), z.unknown())),
  nextCursor: z.string().nullable(),
});

describe('Referrals, read', () => {
  const referrals = useReferrals();
  const { call, codeOf, newUser, newKey, chain } = referrals;
  const show = (userId: string, query = '') => referrals.app.test.get(`/referrals/users/${userId}${query}`);
  const operator = (userId: string, path = '') =>
    referrals.world.client.get(`/portal/app/${referrals.app.appId}/test/referrals/users/${userId}${path}`);
  const history = async (fields: Record<string, unknown>) =>
    page.parse(requireStatus(await call('history', fields), 200).json);

  it('show nothing of a user without any', async () => {
    const userId = await newUser();
    const nothing = { code: null, referrer: null, attributedAt: null, referees: [], nextCursor: null };
    expect(requireStatus(await show(userId), 200).json).to.deep.equal({ userId, ...nothing, balances: [] });
    expect(await history({ userId })).to.deep.equal({ items: [], nextCursor: null });
  });

  it('show the code, the referrer, the referees and the balances', async () => {
    const [above, middle, first, last] = [await newUser(), await newUser(), await newUser(), await newUser()];
    await chain(first, middle, above);
    await chain(last, middle);
    const payout = { idemKey: newKey(), userId: middle, currency: CHIP, amount: '30' };
    requireStatus(await call('payout', payout), 201);
    const { json } = requireStatus(await show(middle), 200);
    expect(json).to.deep.include({
      userId: middle,
      code: await codeOf(middle),
      referrer: { userId: above, code: await codeOf(above) },
      nextCursor: null,
      balances: [{ currency: CHIP, accrued: '30', withdrawn: '0', balance: '30' }],
    });
    expect(json.attributedAt).to.match(TIME);
    const { referees } = z.object({ referees: page.shape.items }).parse(json);
    expect(referees.map(({ userId }) => userId)).to.deep.equal([last, first]);
    expect(referees[0]?.attributedAt).to.match(TIME);
    expect((await operator(middle)).text).to.equal((await show(middle)).text);

    const half = requireStatus(await show(middle, '?limit=1'), 200).json;
    const rest = requireStatus(await show(middle, `?limit=1&cursor=${half.nextCursor}`), 200).json;
    expect([half.referees, rest.referees].flat()).to.deep.equal(referees);
    expect(rest.nextCursor).to.equal(null);
    expect(verdict(await show(above, `?cursor=${half.nextCursor}`))).to.equal('400 request/invalid');
  });

  it('list accruals and withdrawals, newest first, with what they were for', async () => {
    const [above, below] = [await newUser(), await newUser()];
    await chain(below, above);
    const [paid, split, out] = [newKey(), newKey(), newKey()];
    const user = { userId: above, currency: CHIP };
    requireStatus(
      await call('payout', { ...user, idemKey: paid, amount: '7', sourceUserId: below, memo: 'a good week' }),
      201,
    );
    const levels = { userId: below, currency: CHIP, amount: '100', levels: [500] };
    requireStatus(await call('distribute', { ...levels, idemKey: split }), 200);
    requireStatus(await call('withdraw', { ...user, idemKey: out, amount: '2' }), 200);

    const { items, nextCursor } = await history({ userId: above });
    expect(nextCursor).to.equal(null);
    expect(items.map(({ at: _at, ...item }) => item)).to.deep.equal([
      { kind: 'withdrawal', idemKey: out, currency: CHIP, amount: '2' },
      { kind: 'distribution', idemKey: split, currency: CHIP, amount: '5', level: 1, sourceUserId: below },
      {
        kind: 'payout',
        idemKey: paid,
        currency: CHIP,
        amount: '7',
        sourceUserId: below,
        memo: 'a good week',
      },
    ]);
    for (const { at } of items) expect(at).to.match(TIME);
    const first = await history({ userId: above, currency: CHIP, limit: 2 });
    const rest = await history({ userId: above, currency: CHIP, limit: 2, cursor: first.nextCursor });
    expect([...first.items, ...rest.items]).to.deep.equal(items);
    expect(await history({ userId: above, currency: 1 })).to.deep.equal({ items: [], nextCursor: null });
    expect(page.parse(requireStatus(await operator(above, '/history'), 200).json)).to.deep.equal({
      items,
      nextCursor,
    });
  });

  it('show an operator whom a user brought, level by level', async () => {
    const [top, left, right, leaf] = [await newUser(), await newUser(), await newUser(), await newUser()];
    await chain(left, top);
    await chain(right, top);
    await chain(leaf, left);
    const tree = async (query = '') => {
      const { json } = requireStatus(await operator(top, `/tree${query}`), 200);
      const items = page.shape.items.parse(json.items);
      return [
        json.isComplete,
        ...items.map(({ level, userId, referrerUserId }) => [level, userId, referrerUserId]),
      ];
    };
    const direct = [
      [1, left, top],
      [1, right, top],
    ];
    expect(await tree()).to.deep.equal([true, ...direct, [2, leaf, left]]);
    expect(await tree('?depth=1')).to.deep.equal([true, ...direct]);
    expect(await tree('?limit=2')).to.deep.equal([false, ...direct]);
  });

  it('refuse users and currencies that are not there', async () => {
    const nobody = newId('usr');
    expect(verdict(await show(nobody))).to.equal('404 users/not_found');
    expect(verdict(await call('history', { userId: nobody }))).to.equal('404 users/not_found');
    const userId = await newUser();
    expect(verdict(await call('history', { userId, currency: 99 }))).to.equal(
      '404 referrals/unknown_currency',
    );
    for (const path of ['', '/tree', '/history']) {
      expect(verdict(await operator(nobody, path)), path).to.equal('404 users/not_found');
    }
  });
});
