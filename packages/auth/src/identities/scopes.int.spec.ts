/**
 * Apps in one scope share users, identities and wallets; other apps see none of them. Over HTTP.
 * Source: spec, What the service does; docs/api.md.
 */

import {
  type AppPlace,
  type ContextWorld,
  requireStatus,
  setUpApp,
  type TestApp,
  verdict,
} from '@coffer/host/testing';
import { createPlayerClient } from '@coffer/sdk';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';
import { PLAY_CONTEXTS } from '../testing/playContexts.ts';
import { allowSignIn, launchDataOf, newWallet } from '../testing/signIns.ts';

const ABSENT = 'usr_01h455vb4pex5vsknk084sn02q';

describe('a player of apps in one scope', () => {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  let sibling: TestApp;
  let stranger: TestApp;
  before(async () => {
    world = await startAuthWorld({ contexts: PLAY_CONTEXTS });
    const { client } = world;
    app = await setUpApp(client);
    sibling = await setUpApp(client, { name: 'Sibling', scope: app.scopeId });
    stranger = await setUpApp(client, { name: 'Stranger' });
    for (const { appId } of [app, sibling, stranger]) await allowSignIn(client, appId);
  });
  after(() => world.stop());

  const pageOf = ({ publishableKey }: AppPlace) =>
    createPlayerClient({ baseUrl: world.client.baseUrl, publishableKey });
  const verify = (place: AppPlace, sessionToken: string) => place.post('/sessions/verify', { sessionToken });
  const asOperator = ({ appId, environment }: AppPlace, userId: string, act = '') => {
    const path = `/portal/app/${appId}/${environment}/users/${userId}`;
    return act === '' ? world.client.get(path) : world.client.post(`${path}/${act}`, {});
  };
  /** All places that share nothing with the first app's test environment. */
  const elsewhere = () => [app.live, sibling.live, stranger.test, stranger.live];

  /** Each way to sign in, as the same person everywhere. */
  const methods = {
    'a wallet': () => {
      const wallet = newWallet();
      return (place: AppPlace) => pageOf(place).signInWithWallet(wallet);
    },
    'a messenger': () => {
      const initData = launchDataOf({ id: 8_000_000_001, username: 'ada' });
      return (place: AppPlace) => pageOf(place).messenger.verify({ initData });
    },
  };

  for (const [name, newPerson] of Object.entries(methods)) {
    it(`is one user with one wallet in all of them, by ${name}`, async () => {
      const signIn = newPerson();
      const here = (await signIn(app.test)).user;
      const there = (await signIn(sibling.test)).user;
      expect(there).to.deep.equal({ ...here, appId: sibling.appId });
      expect(here.appId).to.equal(app.appId);
      expect(here.wallets).to.have.length(1);
    });

    it(`is somebody else in another scope and environment, by ${name}`, async () => {
      const signIn = newPerson();
      const users = [(await signIn(app.test)).user];
      for (const place of [app.live, stranger.test, stranger.live]) users.push((await signIn(place)).user);
      const addresses = users.flatMap(({ wallets }) => wallets.map(({ address }) => address));
      expect(new Set(users.map(({ id }) => id))).to.have.length(4);
      expect(new Set(addresses)).to.have.length(4);
      const again = (await signIn(sibling.live)).user;
      expect(again.id, 'the environments of a scope are as shared as each other').to.equal(users[1]?.id);
    });
  }

  it('has sessions at each app of its own: no other app can verify them', async () => {
    const wallet = newWallet();
    const tokens = new Map<AppPlace, string>();
    for (const place of [app.test, sibling.test]) {
      tokens.set(place, (await pageOf(place).signInWithWallet(wallet)).accessToken);
    }
    const verified = [];
    for (const [place, token] of tokens) {
      verified.push(requireStatus(await verify(place, token), 200).json);
      for (const other of [app.test, sibling.test, ...elsewhere()]) {
        if (other === place) continue;
        expect(verdict(await verify(other, token))).to.equal('401 auth/invalid_session');
      }
    }
    expect(verified[0]).to.deep.equal({ ...verified[1], appId: app.appId });
  });

  it('is known to the servers of all of them, and absent to all others in the words of an absent one', async () => {
    const { user } = await pageOf(app.test).signInWithWallet(newWallet());
    const asks = (place: AppPlace, userId: string) =>
      Promise.all([
        place.get(`/users/${userId}/accounts`),
        place.openSession({ userId, lockAmount: '0', transactionUuid: undefined }),
        asOperator(place, userId),
      ]);
    for (const place of [app.test, sibling.test]) {
      expect((await asks(place, user.id)).map(verdict)).to.deep.equal(['200', '201', '200']);
    }
    for (const place of elsewhere()) {
      const answers = await asks(place, user.id);
      expect(answers.map(verdict)).to.deep.equal(Array(3).fill('404 users/not_found'));
      const absent = await asks(place, ABSENT);
      expect(answers.map(({ text }) => text)).to.deep.equal(absent.map(({ text }) => text));
    }
  });

  it('is suspended and erased for all of them, and by nobody else', async () => {
    const wallet = newWallet();
    const session = await pageOf(app.test).signInWithWallet(wallet);
    const { id } = session.user;
    for (const place of elsewhere()) {
      for (const act of ['suspend', 'erase']) {
        expect(verdict(await asOperator(place, id, act))).to.equal('404 users/not_found');
      }
    }
    expect(verdict(await verify(app.test, session.accessToken))).to.equal('200');

    requireStatus(await asOperator(sibling.test, id, 'suspend'), 200);
    expect(verdict(await verify(app.test, session.accessToken))).to.equal('401 auth/invalid_session');
    requireStatus(await asOperator(app.test, id, 'erase'), 200);
    expect((await asOperator(sibling.test, id)).json.status).to.equal('erased');
    const anew = await pageOf(sibling.test).signInWithWallet(wallet);
    expect(anew.user.id).not.to.equal(id);
    expect((await pageOf(app.test).signInWithWallet(wallet)).user.id).to.equal(anew.user.id);
  });
});
