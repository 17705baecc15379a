/** Why an operator suspends a user: for the log, and for nobody's eyes but the operator's. */
import { type ContextWorld, setUpApp, type TestApp, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';

describe('the reason of a suspension', () => {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  let userId: string;
  before(async () => {
    world = await startAuthWorld({ roles: ['api'] });
    app = await setUpApp(world.client);
  });
  after(() => world.stop());
  beforeEach(async () => {
    userId = await app.test.newUser();
  });

  const suspend = (body: unknown) =>
    world.client.post(`/portal/app/${app.appId}/test/users/${userId}/suspend`, body);
  const suspensions = async () =>
    (await world.client.lines(`/portal/streams/user-test.${app.scopeId}.${userId}`))
      .filter(({ type }) => type === 'UserSuspended')
      .map(({ data }) => data);

  it('is kept in the event, trimmed, and is no part of the answer', async () => {
    const answer = await suspend({ reason: '  Charged back twice\n' });
    expect([answer.status, answer.json]).to.deep.equal([200, { userId, status: 'suspended' }]);
    expect(await suspensions()).to.deep.equal([{ reason: 'Charged back twice' }]);
  });

  it('is that of the first suspension, however often the user is suspended', async () => {
    const first = await suspend({ reason: 'Charged back' });
    const again = await suspend({ reason: 'Something else' });
    expect([again.status, again.text]).to.deep.equal([200, first.text]);
    expect(await suspensions()).to.deep.equal([{ reason: 'Charged back' }]);
  });

  it('need not be given', async () => {
    expect(verdict(await suspend({}))).to.equal('200');
    expect(await suspensions()).to.deep.equal([{}]);
  });

  for (const [what, reason] of [
    ['blank', ' \n'],
    ['longer than 200 characters', 'x'.repeat(201)],
    ['no text', 1],
  ] as const) {
    it(`is refused if it is ${what}, and nobody is suspended`, async () => {
      expect(verdict(await suspend({ reason }))).to.equal('400 request/invalid');
      expect(await suspensions()).to.deep.equal([]);
    });
  }
});
