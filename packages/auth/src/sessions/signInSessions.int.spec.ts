/** Sign-in sessions over HTTP, on two nodes. Source: contract, Sign-in and sessions. */
import {
  type Client,
  type ContextNode,
  type ContextWorld,
  requireStatus,
  setUpApp,
  type TestApp,
} from '@coffer/host/testing';
import { createPlayerClient, type Session as PlayerSession } from '@coffer/sdk';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';
import { allowSignIn, newWallet } from '../testing/signIns.ts';

describe('sign-in sessions', () => {
  let world: ContextWorld<AuthGiven>;
  let other: ContextNode;
  let app: TestApp;
  let nodes: readonly [Client, Client];

  before(async () => {
    world = await startAuthWorld({ given: { acceptsLoopback: true } });
    other = await world.startNode({ roles: ['api'] });
    nodes = [world.client, other.client];
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
  });
  after(() => world.stop());

  const signIn = (environment: 'test' | 'live' = 'test'): Promise<PlayerSession> =>
    createPlayerClient({
      baseUrl: world.client.baseUrl,
      publishableKey: app[environment].publishableKey,
    }).signInWithWallet(newWallet());
  const verify = ({ accessToken }: PlayerSession, node: 0 | 1 = 0, key = app.test.secretKey) =>
    nodes[node].post('/sessions/verify', { sessionToken: accessToken }, { key });
  const refusedOn = (node: 0 | 1, session: PlayerSession) =>
    eventually(
      'the session is refused',
      async () => (await verify(session, node)).status === 401 || undefined,
    );

  it('are verified, refreshed and shown by whichever node is asked', async () => {
    const opened = await signIn();
    const { user } = opened;
    const [wallet] = user.wallets;
    for (const node of [0, 1] as const) {
      expect((await verify(opened, node)).json).to.deep.include({
        userId: user.id,
        appId: app.appId,
        environment: 'test',
        authMethod: 'siws',
        walletAddress: wallet?.address,
      });
      const me = requireStatus(await nodes[node].get('/me', { key: opened.accessToken }), 200);
      expect(me.json.wallet).to.deep.equal(wallet);
    }
    const body = { refreshToken: opened.refreshToken };
    const answers = await Promise.all(nodes.map((node) => node.post('/auth/refresh', body, { key: null })));
    for (const answer of answers) requireStatus(answer, 200);
    expect(answers[0]?.json.refreshToken).to.equal(answers[1]?.json.refreshToken);
  });

  it('are never good for a key of the other environment, or as a key', async () => {
    const session = await signIn();
    expect((await verify(session, 0, app.live.secretKey)).json).to.include({ code: 'auth/invalid_session' });
    expect((await verify(await signIn('live'))).json).to.include({ code: 'auth/invalid_session' });
    const asKey = await verify(session, 0, session.accessToken);
    expect(asKey).to.deep.include({ status: 403 });
    expect(asKey.json).to.include({ code: 'auth/wrong_credential_kind' });
  });

  it('are over on every node with a logout at one', async () => {
    const session = await signIn();
    for (const node of [0, 1] as const) requireStatus(await verify(session, node), 200);
    const body = { refreshToken: session.refreshToken };
    requireStatus(await nodes[0].post('/auth/logout', body, { key: null }), 204);
    expect((await verify(session, 0)).status, 'at once where it was ended').to.equal(401);
    await refusedOn(1, session);
  });

  it('are signed by another key after a rotation, which an operator can read about', async () => {
    const rotate = (body: object) => world.client.post('/portal/signing-keys/rotate', body);
    const young = await rotate({ environment: 'test' });
    expect(young).to.deep.include({ status: 409 });
    expect(young.json).to.include({ code: 'auth/standby_key_too_young' });

    const [before, live] = [await signIn(), await signIn('live')];
    const rotated = requireStatus(await rotate({ environment: 'test', compromised: true }), 200).json;
    expect((await verify(before)).status).to.equal(401);
    await refusedOn(1, before);
    expect((await verify(live, 1, app.live.secretKey)).status, 'the other environment').to.equal(200);
    for (const node of [0, 1] as const) requireStatus(await verify(await signIn(), node), 200);

    const listed = (await world.client.get('/portal/signing-keys?environment=test')).json.items;
    const states = new Map((Array.isArray(listed) ? listed : []).map(({ kid, state }) => [kid, state]));
    expect(states.get(rotated.signingKid)).to.equal('signing');
    expect(states.get(rotated.previousKid)).to.equal('retired');
    const jwks = (await nodes[1].get('/.well-known/jwks.json', { key: null })).text;
    expect(jwks).to.include(String(rotated.signingKid)).and.not.include(String(rotated.previousKid));
    const { rows } = await world.pool.query(
      `select actor, details from records.admin_actions where action = 'signing-keys.rotate'`,
    );
    expect(rows).to.have.length(1);
    expect(rows[0].details).to.include({ environment: 'test', isCompromised: true });
  });

  it('are checked offline by an issuer for each environment: where the service listens, or its public origin', async () => {
    const config = { publicOrigin: 'https://wallets.example' };
    const published = await world.startNode({ config, roles: ['api'] });
    for (const [url, origin, issuer] of [
      [world.url, world.url, 'coffer'],
      [published.url, 'https://wallets.example', 'https://wallets.example'],
    ]) {
      const metadata = JSON.parse(await (await fetch(`${url}/live/.well-known/openid-configuration`)).text());
      expect(metadata).to.include({
        issuer: `${issuer}/live`,
        jwks_uri: `${origin}/live/.well-known/jwks.json`,
      });
    }
  });

  it('belong to the pages of their app, and on this machine to every page of it', async () => {
    const { accessToken } = await signIn();
    const readableBy = async (origin: string) => {
      const answer = await world.client.get('/me', { key: accessToken, headers: { origin } });
      return requireStatus(answer, 200).headers.get('access-control-allow-origin');
    };
    const settings = { allowedOrigins: ['https://play.example'] };
    requireStatus(await world.client.post(`/portal/app/${app.appId}/settings`, { settings }), 200);
    expect(await readableBy('https://play.example')).to.equal('https://play.example');
    expect(await readableBy('http://localhost:5173')).to.equal('http://localhost:5173');
    expect(await readableBy('https://evil.example')).to.equal(null);
    const preflight = await world.client.send('OPTIONS', '/me', undefined, {
      key: null,
      headers: { origin: 'http://localhost:5173', 'access-control-request-method': 'GET' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).to.equal('http://localhost:5173');
  });
});
