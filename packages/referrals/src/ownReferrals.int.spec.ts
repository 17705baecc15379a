/** Referrals as a signed-in player sees and makes them, over HTTP. Source: contract, Referrals. */
import { allowSignIn, launchDataOf } from '@coffer/auth/testing';
import { requireStatus, textOf, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { CHIP, useReferrals } from './testing/useReferrals.ts';

describe('Referrals, with a player’s session', () => {
  const referrals = useReferrals();
  const { call, codeOf, newUser, newKey, chain, erase } = referrals;
  before(() => allowSignIn(referrals.world.client, referrals.app.appId));

  let people = 9_000_000;
  const newPlayer = async () => {
    const { client } = referrals.world;
    const initData = launchDataOf({ id: ++people, username: `player${people}` });
    const key = referrals.app.test.publishableKey;
    const session = requireStatus(await client.post('/auth/messenger/verify', { initData }, { key }), 200);
    const token = { key: textOf(session, 'accessToken') };
    const { user } = z.object({ user: z.object({ id: z.string() }) }).parse(session.json);
    return {
      userId: user.id,
      get: (path: string) => client.get(`/referrals/${path}`, token),
      attribute: (code: unknown) => client.post('/referrals/attribute-self', { code }, token),
    };
  };

  it('show a code that is made at the first look, by me or by the share links, and is the user’s for good', async () => {
    for (const [first, second] of [
      ['me', 'share-links'],
      ['share-links', 'me'],
    ] as const) {
      const { userId, get } = await newPlayer();
      const { json } = requireStatus(await get(first), 200);
      expect(json.code).to.match(/^[23456789ABCDEFGHJKMNPQRSTUVWXYZ]{8}$/);
      expect((await get(second)).json.code).to.equal(json.code);
      expect(await codeOf(userId)).to.equal(json.code);
    }
  });

  it('show the referrer and the balance of each currency', async () => {
    const { userId, get } = await newPlayer();
    const code = await codeOf(userId);
    expect((await get('me')).text).to.equal(JSON.stringify({ code, referrer: null, balances: [] }));
    const above = await newUser();
    await chain(userId, above);
    for (const [currency, amount] of [
      [CHIP, '30'],
      [1, '5'],
    ]) {
      const payout = { idemKey: newKey(), userId, currency, amount };
      requireStatus(await call('payout', payout), 201);
    }
    const withdrawal = { idemKey: newKey(), userId, currency: CHIP, amount: '10' };
    requireStatus(await call('withdraw', withdrawal), 200);
    expect((await get('me')).json).to.deep.equal({
      code,
      referrer: { userId: above, code: await codeOf(above) },
      balances: [
        { currency: 1, accrued: '5', withdrawn: '0', balance: '5' },
        { currency: CHIP, accrued: '30', withdrawn: '10', balance: '20' },
      ],
    });
    await erase(above);
    expect((await get('me')).json.referrer).to.deep.equal({ userId: above, code: null });
  });

  it('attribute the player, once, without telling whose a code is', async () => {
    const [player, other] = [await newPlayer(), await newPlayer()];
    const [code, own] = [await codeOf(other.userId), await codeOf(player.userId)];
    const first = await player.attribute(code.toLowerCase());
    expect([first.status, first.text]).to.deep.equal([200, '{"attributed":true}']);
    const again = await player.attribute(code);
    expect([again.text, again.replayed]).to.deep.equal([first.text, true]);
    for (const [refused, reason] of [
      ['nobody', 'unknown_code'],
      [own, 'self'],
      [await codeOf(await newUser()), 'already_attributed'],
    ]) {
      const { status, text } = await player.attribute(refused);
      expect([status, text]).to.deep.equal([200, JSON.stringify({ attributed: false, reason })]);
    }
    expect((await other.attribute(own)).text).to.equal('{"attributed":false,"reason":"cycle"}');
  });

  it('list the player’s own history, in pages, as the app sees it', async () => {
    const { userId, get } = await newPlayer();
    for (const amount of ['1', '2', '3']) {
      requireStatus(await call('payout', { idemKey: newKey(), userId, currency: CHIP, amount }), 201);
    }
    const whole = requireStatus(await get('me/history'), 200);
    expect(whole.text).to.equal((await call('history', { userId })).text);
    const first = requireStatus(await get('me/history?limit=2'), 200).json;
    const second = requireStatus(await get(`me/history?limit=2&cursor=${first.nextCursor}`), 200).json;
    expect([first.items, second.items].flat()).to.deep.equal(whole.json.items);
    expect((await get('me/history?currency=1')).json).to.deep.equal({ items: [], nextCursor: null });
    expect(verdict(await get('me/history?currency=99'))).to.equal('404 referrals/unknown_currency');
    expect(verdict(await get('me/history?limit=0'))).to.equal('400 request/invalid');
    expect(verdict(await get('me/history?cursor=x'))).to.equal('400 request/invalid');
  });

  it('fill the app’s templates of share links with the code', async () => {
    const { userId, get } = await newPlayer();
    const code = 'Ada_s-code';
    requireStatus(await call('code', { userId, code }), 200);
    expect((await get('share-links')).json).to.deep.equal({ code, links: {} });
    const shareLinkTemplates = {
      web: 'https://game.example/join/{code}?again={codeUrl}',
      app: 'game://join?code={codeUrl}',
    };
    const path = `/portal/app/${referrals.app.appId}/settings`;
    requireStatus(await referrals.world.client.post(path, { settings: { shareLinkTemplates } }), 200);
    expect((await get('share-links')).json).to.deep.equal({
      code,
      links: {
        web: `https://game.example/join/${code}?again=${code}`,
        app: `game://join?code=${code}`,
      },
    });
  });

  it('need a session, and a code', async () => {
    const { client } = referrals.world;
    for (const path of ['me', 'share-links', 'me/history']) {
      const { publishableKey, secretKey } = referrals.app.test;
      for (const [status, key] of [
        [401, null],
        [403, publishableKey],
        [403, secretKey],
      ] as const) {
        expect((await client.get(`/referrals/${path}`, { key })).status, path).to.equal(status);
      }
    }
    const { attribute } = await newPlayer();
    for (const code of [undefined, null, 7, '', {}]) {
      expect(verdict(await attribute(code)), JSON.stringify(code)).to.equal('400 request/invalid');
    }
    expect((await attribute('no code at all!')).text).to.equal(
      '{"attributed":false,"reason":"unknown_code"}',
    );
  });
});
