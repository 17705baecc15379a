/** `users erase`, as an operator calls it. Source: contract, The command line. */

import { requestedBy } from '@coffer/event-store';
import { type ContextWorld, requireStatus, setUpApp, type TestApp, verdict } from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { eventually, patiently } from '@coffer/testing';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';
import { contextOf, type IdentityNode, identityNode, newPerson } from '../testing/identityNode.ts';
import { PLAY_CONTEXTS } from '../testing/playContexts.ts';

describe('an erased user', () => {
  let world: ContextWorld<AuthGiven>;
  /** Another process: one that signs players in. */
  let node: IdentityNode;
  let app: TestApp;
  let place: TestApp['test'];

  before(async () => {
    world = await startAuthWorld({ contexts: PLAY_CONTEXTS, config: { reactionGraceMs: 0 } });
    node = identityNode(world);
    app = await setUpApp(world.client);
    place = app.test;
  });
  after(() => world.stop());

  const path = (userId: string, act = '') => `/portal/app/${place.appId}/test/users/${userId}${act}`;
  const post = (userId: string, act: string) => world.client.post(path(userId, act), {});
  const placeOfApp = () => ({ appId: app.appId, scopeId: app.scopeId, environment: 'test' }) as const;
  const signIn = async () => {
    const person = newPerson();
    const again = () => node.identities.resolve(placeOfApp(), person, {}, contextOf());
    return { again, user: (await again()).user };
  };
  const keptOf = async (userId: string) => {
    const { rows } = await world.pool.query(
      'select sealed_key from records.auth_data_keys where user_id = $1',
      [userId],
    );
    return rows;
  };

  it('is forgotten, and the same person is a new user', async () => {
    const { user, again } = await signIn();
    const answer = requireStatus(await post(user.id, '/erase'), 200);
    expect(answer.json).to.deep.equal({ userId: user.id, status: 'erased' });
    expect(await keptOf(user.id)).to.deep.equal([{ sealed_key: null }]);
    expect((await again()).user.id).not.to.equal(user.id);
    expect(requireStatus(await post(user.id, '/erase'), 200).json).to.deep.equal(answer.json);
  });

  it('is forgotten even if only the first step was done: the process does the rest', async () => {
    const { again, user } = await signIn();
    const request = { requestId: 'req-1', actor: 'operator', deadlineMs: patiently() };
    await node.users.erase(
      { ...placeOfApp(), userId: user.id },
      requestedBy(request, new Date().toISOString()),
    );
    await eventually('the data key is destroyed', async () => {
      const [row] = await keptOf(user.id);
      return row?.sealed_key === null || undefined;
    });
    expect((await again()).user.id).not.to.equal(user.id);
  });

  it('keeps funds and open play under the id, opens nothing new, and is shown to the operator alone', async () => {
    const { sessionId, userId } = await place.newSession('100');
    requireStatus(await post(userId, '/erase'), 200);
    const refused = await place.openSession({ userId, lockAmount: '0' });
    expect(verdict(refused)).to.equal('404 users/not_found');
    requireStatus(await place.bet({ sessionId, amount: '30' }), 200);
    requireStatus(await place.settle({ sessionId }), 200);
    expect(await place.funds(userId)).to.deep.equal({ available: '70', held: '0' });
    const { json } = requireStatus(await world.client.get(path(userId)), 200);
    expect(json).to.include({ userId, status: 'erased' });
  });

  it('is neither suspended nor reinstated', async () => {
    const userId = await place.newPlayer('1');
    requireStatus(await post(userId, '/erase'), 200);
    for (const act of ['/suspend', '/reinstate']) {
      expect(verdict(await post(userId, act))).to.equal('409 users/erased');
    }
  });

  it('is, like every user, made even if the sign-in died: the process makes user and wallet', async () => {
    const dying = identityNode({
      ...world,
      failPoint(name) {
        if (name === 'signIn.claimed') throw new Error('The process has just died.');
      },
    });
    const person = newPerson();
    const lost = await dying.identities.resolve(placeOfApp(), person, {}, contextOf()).catch(String);
    expect(lost).to.include('has just died');
    let userId = '';
    for await (const page of world.store.readAll()) {
      for (const { type, data } of page) if (type === 'IdentityClaimed') ({ userId } = JSON.parse(data));
    }
    const seen = await eventually('the user has a wallet', async () => {
      const viewed = await node.identities.view(placeOfApp(), userId, contextOf());
      return viewed && viewed.user.wallets.length > 0 ? viewed : undefined;
    });
    const { user } = await node.identities.resolve(placeOfApp(), person, {}, contextOf());
    expect(user).to.deep.include({ id: userId, wallets: seen.user.wallets });
  });

  it('was a user before: who never was is not found', async () => {
    expect(verdict(await post(newId('usr'), '/erase'))).to.equal('404 users/not_found');
  });
});
