/** Referrals over HTTP, row by row. Source: contract, Referrals and Common rules. */
import { type Answer, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { MAX_AMOUNT, newId } from '@coffer/kernel';
import { expect } from 'chai';
import { CHIP, useReferrals } from './testing/useReferrals.ts';

const CHOSEN = /^[23456789ABCDEFGHJKMNPQRSTUVWXYZ]{8}$/;
const SOL = 1;

describe('Referrals', () => {
  const referrals = useReferrals();
  const { call, codeOf, newUser, newKey, chain, erase, suspend } = referrals;
  const funds = (userId: string) => referrals.app.test.funds(userId);
  const done = async (path: string, fields: Fields, status = 200) =>
    requireStatus(await call(path, fields), status).json;
  const payout = (fields: Fields) => done('payout', { idemKey: newKey(), currency: CHIP, ...fields }, 201);
  const conflictOf = (answer: Answer) => [verdict(answer), answer.json.details];

  describe('a code', () => {
    it('is made once for a user, and answered again', async () => {
      const userId = await newUser();
      const made = await done('code', { userId });
      expect(made).to.deep.equal({ userId, code: made.code });
      expect(made.code).to.match(CHOSEN);
      expect(await done('code', { userId })).to.deep.equal(made);
      expect(await done('code', { userId, code: String(made.code).toLowerCase() })).to.deep.equal(made);
    });

    it('is shown as it was chosen, and looked up without regard to case', async () => {
      const [owner, other] = [await newUser(), await newUser()];
      const code = `Quokka_${owner.slice(-8)}`;
      expect(await done('code', { userId: owner, code })).to.deep.equal({ userId: owner, code });
      expect(await done('attribute', { userId: other, code: code.toUpperCase() })).to.deep.equal({
        attributed: true,
        referrerUserId: owner,
      });
    });

    it('is refused if another user has it, but first if this user has another', async () => {
      const [owner, other] = [await newUser(), await newUser()];
      const code = await codeOf(owner);
      expect(conflictOf(await call('code', { userId: other, code: code.toLowerCase() }))).to.deep.equal([
        '409 referrals/code_taken',
        { code },
      ]);
      const own = await codeOf(other);
      expect(conflictOf(await call('code', { userId: other, code }))).to.deep.equal([
        '409 referrals/code_already_issued',
        { code: own },
      ]);
    });

    it('is one, for 50 requests at once, and one user’s, if many choose it at once', async () => {
      const userId = await newUser();
      const made = await Promise.all(Array.from({ length: 50 }, () => done('code', { userId })));
      expect(new Set(made.map(({ code }) => code)).size).to.equal(1);
      const users = await Promise.all(Array.from({ length: 10 }, newUser));
      const code = `C${userId.slice(-8)}`;
      const answers = await Promise.all(users.map((one) => call('code', { userId: one, code })));
      const refused = answers.filter(({ status }) => status !== 200).map(verdict);
      expect(refused).to.deep.equal(Array(9).fill('409 referrals/code_taken'));
    });

    it('has 3 to 32 letters, digits, "_" or "-", and a user that is there', async () => {
      const userId = await newUser();
      for (const code of ['ab', 'a'.repeat(33), '-abc', '_abc', 'ab c', 'äbc', '', 'ab\n']) {
        expect(verdict(await call('code', { userId, code })), code).to.equal('400 request/invalid');
      }
      expect(verdict(await call('code', { userId: newId('usr') }))).to.equal('404 users/not_found');
    });
  });

  describe('an attribution', () => {
    it('is made once, answered again for the same code, and refused for another', async () => {
      const [userId, first, second] = [await newUser(), await newUser(), await newUser()];
      const code = await codeOf(first);
      const attributed = { attributed: true, referrerUserId: first };
      expect(await done('attribute', { userId, code })).to.deep.equal(attributed);
      const again = await call('attribute', { userId, code: code.toLowerCase() });
      expect(again.json).to.deep.equal(attributed);
      expect(again.replayed).to.equal(true);
      expect(await done('attribute', { userId, code: await codeOf(second) })).to.deep.equal({
        attributed: false,
        reason: 'already_attributed',
        referrerUserId: first,
      });
      expect(await done('attribute', { userId, code: 'nobodys' })).to.deep.equal({
        attributed: false,
        reason: 'unknown_code',
      });
    });

    it('is refused to the user’s own code before anything but an unknown one', async () => {
      const [userId, first] = [await newUser(), await newUser()];
      await chain(userId, first);
      expect(await done('attribute', { userId, code: await codeOf(userId) })).to.deep.equal({
        attributed: false,
        reason: 'self',
      });
    });

    it('is refused if it would close a circle, however long', async () => {
      const users = await Promise.all(Array.from({ length: 5 }, newUser));
      await chain(...users);
      const [bottom = '', , , , top = ''] = users;
      expect(await done('attribute', { userId: top, code: await codeOf(bottom) })).to.deep.equal({
        attributed: false,
        reason: 'cycle',
      });
      const other = await newUser();
      await chain(top, other);
      expect((await done('chain', { userId: bottom })).chain).to.have.length(5);
    });

    it('succeeds for exactly one of two users who name each other at once', async () => {
      for (let round = 0; round < 10; round += 1) {
        const [one, other] = [await newUser(), await newUser()];
        const codes = [await codeOf(one), await codeOf(other)];
        const answers = await Promise.all([
          done('attribute', { userId: one, code: codes[1] }),
          done('attribute', { userId: other, code: codes[0] }),
        ]);
        expect(answers.filter(({ attributed }) => attributed)).to.have.length(1);
        expect(answers.filter(({ reason }) => reason === 'cycle')).to.have.length(1);
      }
    });

    it('is not made by the code of an erased user, who stays in the chains of others without a code', async () => {
      const [userId, erased, late] = [await newUser(), await newUser(), await newUser()];
      await chain(userId, erased);
      const code = await codeOf(erased);
      await erase(erased);
      expect(await done('attribute', { userId: late, code })).to.deep.equal({
        attributed: false,
        reason: 'unknown_code',
      });
      expect((await done('chain', { userId })).chain).to.deep.equal([
        { level: 1, userId: erased, code: null },
      ]);
      expect(await done('attribute', { userId, code })).to.deep.equal({
        attributed: true,
        referrerUserId: erased,
      });
    });

    it('needs a user that is there', async () => {
      const code = await codeOf(await newUser());
      expect(verdict(await call('attribute', { userId: newId('usr'), code }))).to.equal(
        '404 users/not_found',
      );
    });
  });

  it('show a chain from the direct referrer up, at most 10 levels or as deep as asked', async () => {
    const users = await Promise.all(Array.from({ length: 12 }, newUser));
    await chain(...users);
    const [userId = ''] = users;
    const above = await Promise.all(
      users
        .slice(1, 11)
        .map(async (one, index) => ({ level: index + 1, userId: one, code: await codeOf(one) })),
    );
    expect(await done('chain', { userId })).to.deep.equal({ userId, chain: above });
    expect((await done('chain', { userId, depth: 2 })).chain).to.deep.equal(above.slice(0, 2));
    for (const depth of [0, 11, 1.5, '2']) {
      expect(verdict(await call('chain', { userId, depth })), `${depth}`).to.equal('400 request/invalid');
    }
    expect(verdict(await call('chain', { userId: newId('usr') }))).to.equal('404 users/not_found');
  });

  describe('a payout', () => {
    it('is booked once, and answered again with the same bytes although the balance has changed', async () => {
      const userId = await newUser();
      const request = { idemKey: newKey(), userId, currency: CHIP, amount: '7' };
      const first = requireStatus(await call('payout', request), 201);
      expect(first.json).to.deep.equal({ ...request, balance: '7' });
      await payout({ userId, amount: '5' });
      const again = requireStatus(await call('payout', request), 201);
      expect(again.text).to.equal(first.text);
      expect(again.replayed).to.equal(true);
      expect(await done('balance', { userId, currency: CHIP })).to.deep.equal({
        userId,
        currency: CHIP,
        accrued: '12',
        withdrawn: '0',
        balance: '12',
      });
    });

    it('needs users and a currency that are there; an erased user earns nothing more, but is answered again', async () => {
      const [userId, sourceUserId] = [await newUser(), await newUser()];
      const request = { idemKey: newKey(), userId, currency: CHIP, amount: '1' };
      const refused = async (fields: Fields) => verdict(await call('payout', { ...request, ...fields }));
      expect(await refused({ userId: newId('usr') })).to.equal('404 users/not_found');
      expect(await refused({ currency: 99 })).to.equal('404 referrals/unknown_currency');
      expect(await refused({ sourceUserId: newId('usr') })).to.equal('404 users/not_found');
      const first = requireStatus(
        await call('payout', { ...request, sourceUserId, memo: 'x'.repeat(200) }),
        201,
      );
      await erase(userId);
      expect((await call('payout', { ...request, sourceUserId, memo: 'x'.repeat(200) })).text).to.equal(
        first.text,
      );
      expect(await refused({ idemKey: newKey() })).to.equal('404 users/not_found');
    });

    it('refuses bad input', async () => {
      const good = { idemKey: newKey(), userId: await newUser(), currency: CHIP, amount: '1' };
      const bad: readonly Fields[] = [
        { amount: '0' },
        { amount: '-1' },
        { amount: 1 },
        { amount: '01' },
        { amount: `${MAX_AMOUNT + 1n}` },
        { memo: 'x'.repeat(201) },
        { currency: '2' },
        { currency: 1.5 },
        { idemKey: '' },
        { idemKey: 'x'.repeat(129) },
        { idemKey: 'a b' },
        { amuont: '1' },
      ];
      for (const fields of bad) {
        const answer = await call('payout', { ...good, ...fields });
        expect(verdict(answer), JSON.stringify(fields)).to.equal('400 request/invalid');
      }
      expect((await done('balance', { userId: good.userId, currency: CHIP })).accrued).to.equal('0');
    });
  });

  describe('a distribution', () => {
    it('rounds down, lists parts of nothing, withholds an erased user’s, and keeps the rest', async () => {
      const [userId, first, second, third] = [
        await newUser(),
        await newUser(),
        await newUser(),
        await newUser(),
      ];
      await chain(userId, first, second, third);
      await erase(second);
      const request = {
        idemKey: newKey(),
        userId,
        currency: CHIP,
        amount: '199',
        levels: [1000, 500, 10, 500],
      };
      const answer = requireStatus(await call('distribute', request), 200);
      expect(answer.json).to.deep.equal({
        idemKey: request.idemKey,
        distributed: [
          { level: 1, userId: first, bps: 1000, amount: '19' },
          { level: 3, userId: third, bps: 10, amount: '0' },
        ],
        remainder: '180',
        withheld: [{ level: 2, userId: second, bps: 500, amount: '9' }],
      });
      const accrued = async (of: string) => (await done('balance', { userId: of, currency: CHIP })).accrued;
      expect([await accrued(first), await accrued(second), await accrued(third)]).to.deep.equal([
        '19',
        '0',
        '0',
      ]);
    });

    it('is answered again with the same bytes although the chain has grown', async () => {
      const [userId, first, second] = [await newUser(), await newUser(), await newUser()];
      await chain(userId, first);
      const request = { idemKey: newKey(), userId, currency: CHIP, amount: '100', levels: [1000, 1000] };
      const before = requireStatus(await call('distribute', request), 200);
      await chain(first, second);
      expect((await call('distribute', request)).text).to.equal(before.text);
      expect((await done('balance', { userId: second, currency: CHIP })).accrued).to.equal('0');
    });

    it('of a user without a referrer leaves everything with the house', async () => {
      const request = {
        idemKey: newKey(),
        userId: await newUser(),
        currency: CHIP,
        amount: '9',
        levels: [10_000],
      };
      expect(await done('distribute', request)).to.deep.equal({
        idemKey: request.idemKey,
        distributed: [],
        remainder: '9',
        withheld: [],
      });
      expect(await done('distribute', request)).to.include({ remainder: '9' });
    });

    it('refuses levels that are none, too many, out of range, or more than the whole', async () => {
      const good = { idemKey: newKey(), userId: await newUser(), currency: CHIP, amount: '9' };
      for (const levels of [[], Array(11).fill(1), [0], [10_001], [9_999, 2], [1.5], ['1'], 1, undefined]) {
        const answer = await call('distribute', { ...good, levels });
        expect(verdict(answer), JSON.stringify(levels)).to.equal('400 request/invalid');
      }
    });
  });

  describe('a withdrawal', () => {
    it('takes a part or all to the available funds, once', async () => {
      const userId = await newUser();
      await payout({ userId, amount: '10' });
      const part = { idemKey: newKey(), userId, currency: CHIP, amount: '3' };
      const first = requireStatus(await call('withdraw', part), 200);
      expect(first.json).to.deep.equal({ ...part, balance: '7' });
      const all = { idemKey: newKey(), userId, currency: CHIP };
      expect(await done('withdraw', all)).to.deep.equal({ ...all, amount: '7', balance: '0' });
      expect((await call('withdraw', part)).text).to.equal(first.text);
      expect(await funds(userId)).to.deep.equal({ available: '11', held: '0' });
      expect(await done('balance', { userId, currency: CHIP })).to.include({ withdrawn: '10', balance: '0' });
    });

    it('is refused beyond the balance, and leaves its key free', async () => {
      const userId = await newUser();
      const request = { idemKey: newKey(), userId, currency: CHIP };
      const details = { balance: '0', amount: null };
      expect(conflictOf(await call('withdraw', request))).to.deep.equal([
        '409 referrals/insufficient_earnings',
        details,
      ]);
      await payout({ userId, amount: '4' });
      expect(conflictOf(await call('withdraw', { ...request, amount: '5' }))).to.deep.equal([
        '409 referrals/insufficient_earnings',
        { balance: '4', amount: '5' },
      ]);
      expect(await done('withdraw', { ...request, amount: '4' })).to.include({ amount: '4', balance: '0' });
    });

    it('is refused to suspended and erased users, but their earlier ones are answered again', async () => {
      const userId = await newUser();
      await payout({ userId, amount: '4' });
      const before = { idemKey: newKey(), userId, currency: CHIP, amount: '1' };
      const first = requireStatus(await call('withdraw', before), 200);
      await suspend(userId);
      expect((await call('withdraw', before)).text).to.equal(first.text);
      expect(verdict(await call('withdraw', { ...before, idemKey: newKey() }))).to.equal(
        '403 users/suspended',
      );
      await payout({ userId, amount: '2' });
      await erase(userId);
      expect((await call('withdraw', before)).text).to.equal(first.text);
      expect(verdict(await call('withdraw', { ...before, idemKey: newKey() }))).to.equal(
        '404 users/not_found',
      );
      expect(await funds(userId)).to.deep.equal({ available: '2', held: '0' });
    });

    it('of all moves at most 2^64−1 of earnings that go beyond', async () => {
      const userId = await newUser();
      for (let time = 0; time < 2; time += 1)
        await payout({ userId, amount: `${MAX_AMOUNT}`, currency: SOL });
      const all = { idemKey: newKey(), userId, currency: SOL };
      expect(await done('withdraw', all)).to.deep.equal({
        ...all,
        amount: `${MAX_AMOUNT}`,
        balance: `${MAX_AMOUNT}`,
      });
      expect(await done('balance', { userId, currency: SOL })).to.include({ accrued: `${2n * MAX_AMOUNT}` });
    });
  });

  describe('a key', () => {
    const levels = [1000];
    const requests = async () => {
      const [userId, other] = [await newUser(), await newUser()];
      await payout({ userId, amount: '50' });
      await payout({ userId: other, amount: '50' });
      const base = { userId, currency: CHIP, amount: '10' };
      const changed = { userId: other, currency: SOL, amount: '11' };
      return {
        payout: [
          { ...base, sourceUserId: other, memo: 'm' },
          { ...changed, sourceUserId: userId, memo: 'n' },
        ],
        distribute: [
          { ...base, levels },
          { ...changed, levels: [999] },
        ],
        withdraw: [base, changed],
      } as const;
    };

    for (const path of ['payout', 'distribute', 'withdraw'] as const) {
      it(`of a ${path} with other content is refused, naming the first field that differs`, async () => {
        const [first, changed] = (await requests())[path];
        const idemKey = newKey();
        await done(path, { ...first, idemKey }, path === 'payout' ? 201 : 200);
        for (const [field, value] of Object.entries(changed)) {
          const answer = await call(path, { ...first, idemKey, [field]: value });
          expect(conflictOf(answer), field).to.deep.equal([
            '409 referrals/idempotency_conflict',
            { key: idemKey, field },
          ]);
        }
        expect(conflictOf(await call(path, { ...changed, idemKey }))[1]).to.deep.equal({
          key: idemKey,
          field: 'userId',
        });
        const optional = Object.keys(first).filter((name) => /^(sourceUserId|memo)$/.test(name));
        for (const field of path === 'withdraw' ? ['amount'] : optional) {
          const answer = await call(path, { ...first, idemKey, [field]: undefined });
          expect(conflictOf(answer)[1], `without ${field}`).to.deep.equal({ key: idemKey, field });
        }
      });

      it(`of a ${path} cannot be used for another operation`, async () => {
        const all = await requests();
        const idemKey = newKey();
        await done(path, { ...all[path][0], idemKey }, path === 'payout' ? 201 : 200);
        for (const other of ['payout', 'distribute', 'withdraw'] as const) {
          if (other === path) continue;
          expect(conflictOf(await call(other, { ...all[other][0], idemKey })), other).to.deep.equal([
            '409 referrals/idempotency_conflict',
            { key: idemKey, field: 'operation' },
          ]);
        }
      });

      it(`of a ${path} has one effect, for 50 requests at once`, async () => {
        const [first] = (await requests())[path];
        const request = { ...first, idemKey: newKey() };
        const subject = { userId: first.userId, currency: CHIP };
        const before = await done('balance', subject);
        const answers = await Promise.all(Array.from({ length: 50 }, () => call(path, request)));
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
        expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
        const { balance } = await done('balance', subject);
        const moved = { payout: 10n, distribute: 0n, withdraw: -10n }[path];
        expect(BigInt(String(balance)) - BigInt(String(before.balance))).to.equal(moved);
      });
    }

    it('belongs to one app and environment', async () => {
      const userId = await newUser();
      const request = { idemKey: newKey(), userId, currency: CHIP, amount: '1' };
      await done('payout', request, 201);
      const live = await referrals.app.live.newPlayer('1');
      const answer = await referrals.app.live.post('/referrals/payout', { ...request, userId: live });
      expect(requireStatus(answer, 201).replayed).to.equal(false);
    });

    it('can come as a header', async () => {
      const userId = await newUser();
      const idemKey = newKey();
      const answer = await referrals.world.client.post(
        '/referrals/payout',
        { userId, currency: CHIP, amount: '1' },
        { key: referrals.app.test.secretKey, headers: { 'idempotency-key': idemKey } },
      );
      expect(requireStatus(answer, 201).json).to.include({ idemKey, balance: '1' });
    });
  });
});
