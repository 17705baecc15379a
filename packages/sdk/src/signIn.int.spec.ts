/** The SDK's sign-in calls against the service over HTTP, from a first sign-in to a verified session. */

import { type AuthGiven, allowSignIn, launchDataOf, newWallet, startAuthWorld } from '@coffer/auth/testing';
import { type ContextWorld, requireStatus, setUpApp, type TestApp } from '@coffer/host/testing';
import { expect } from 'chai';
import {
  createBackendClient,
  createPlayerClient,
  type Fetch,
  memoryTokenStore,
  ownsWallet,
  type PlayerClient,
} from './index.ts';
import { codeOf } from './testing/scriptedService.ts';

describe('signing in with the SDK, against the service', () => {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  before(async () => {
    world = await startAuthWorld({ given: { mail: { send: async () => undefined, close() {} } } });
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
  });
  after(() => world.stop());

  const newPage = (ownFetch: Fetch = fetch, tokens = memoryTokenStore()): PlayerClient =>
    createPlayerClient({
      baseUrl: world.client.baseUrl,
      publishableKey: app.test.publishableKey,
      fetch: ownFetch,
      tokens,
      retry: { firstDelayMs: 1 },
    });
  const backend = (secretKey = app.test.secretKey) =>
    createBackendClient({ baseUrl: world.client.baseUrl, secretKey });

  it('leads a wallet to one user and one custodial wallet, however often it signs in', async () => {
    const wallet = newWallet();
    const first = await newPage().signInWithWallet(wallet);
    const second = await newPage().signInWithWallet(wallet);
    expect(second.user.id).to.equal(first.user.id);
    expect(second.user.wallets).to.deep.equal(first.user.wallets);
    expect(first.user.primaryIdentity).to.deep.include({
      type: 'wallet',
      externalId: wallet.publicKey,
      profile: {},
    });
    expect(second.accessToken).not.to.equal(first.accessToken);
  });

  it('refuses a signature of another wallet', async () => {
    const { publicKey } = newWallet();
    const { signMessage } = newWallet();
    expect(await codeOf(newPage().signInWithWallet({ publicKey, signMessage }))).to.equal(
      'auth/signature_invalid',
    );
  });

  it('ends every session of a user who is suspended, for good, and tells who signs in again', async () => {
    const wallet = newWallet();
    const page = newPage();
    const { user, accessToken } = await page.signInWithWallet(wallet);
    const path = `/portal/app/${app.appId}/test/users/${user.id}`;
    requireStatus(await world.client.post(`${path}/suspend`, {}), 200);
    expect(await codeOf(backend().sessions.verify(accessToken))).to.equal('auth/invalid_session');
    expect(await codeOf(page.refresh())).to.equal('auth/user_suspended');
    expect(await codeOf(newPage().signInWithWallet(wallet))).to.equal('auth/user_suspended');

    requireStatus(await world.client.post(`${path}/reinstate`, {}), 200);
    expect(await codeOf(backend().sessions.verify(accessToken))).to.equal('auth/invalid_session');
    const again = await newPage().signInWithWallet(wallet);
    expect(again.user.id).to.equal(user.id);
    expect((await backend().sessions.verify(again.accessToken)).userId).to.equal(user.id);
  });

  it('leaves no session open that a suspension had not come to end', async () => {
    const { user, accessToken } = await newPage().signInWithWallet(newWallet());
    const path = `/portal/app/${app.appId}/test/users/${user.id}`;
    requireStatus(await world.client.post(`${path}/suspend`, {}), 200);
    // As left by a process that dies after the event.
    await world.pool.query(
      'update records.auth_sessions set ended_at = null, ended_because = null where user_id = $1',
      [user.id],
    );
    requireStatus(await world.client.post(`${path}/reinstate`, {}), 200);
    expect(await codeOf(backend().sessions.verify(accessToken))).to.equal('auth/invalid_session');
  });

  it('takes the launch data of a messenger, and shows the profile that it proves', async () => {
    const page = newPage();
    const { user } = await page.messenger.verify({ initData: launchDataOf({ id: 4711, username: 'ada' }) });
    expect(user.primaryIdentity).to.deep.include({ type: 'messenger', externalId: '4711' });
    expect(user.primaryIdentity.profile).to.deep.include({ username: 'ada', firstName: 'Ada' });
    expect((await page.me()).user).to.deep.equal(user);
  });

  it('answers a mail address whether or not anybody has it, and refuses a code that was not sent', async () => {
    const page = newPage();
    expect((await page.email.initiate('nobody@game.example')).sent).to.equal(true);
    const wrong = { email: 'stranger@game.example', code: '000000' };
    expect(await codeOf(page.email.verify(wrong))).to.equal('auth/code_invalid');
  });

  it('lets a backend verify the player, in its own environment only', async () => {
    const page = newPage();
    const { user } = await page.signInWithWallet(newWallet());
    const accessToken = await page.accessToken();
    const verified = await backend().sessions.verify(accessToken);
    expect(verified).to.deep.include({ userId: user.id, environment: 'test', authMethod: 'siws' });
    expect(verified.wallets).to.deep.equal(user.wallets);
    expect(ownsWallet(verified, user.wallets[0]?.address ?? '')).to.equal(true);
    const live = backend(app.live.secretKey).sessions;
    expect(await codeOf(live.verify(accessToken))).to.equal('auth/invalid_session');
  });

  it('stays signed in over a refresh whose answer is lost, with parallel callers', async () => {
    let lost = false;
    const page = newPage(async (url, init) => {
      const response = await fetch(url, init);
      if (!url.endsWith('/auth/refresh') || lost) return response;
      lost = true;
      await response.arrayBuffer();
      throw new TypeError('terminated');
    });
    const { refreshToken, user } = await page.signInWithWallet(newWallet());
    const all = await Promise.all(Array.from({ length: 20 }, () => page.refresh()));
    expect(new Set(all.map((session) => session.refreshToken))).to.have.length(1);
    expect(all[0]?.refreshToken).not.to.equal(refreshToken);
    expect((await page.me()).user.id).to.equal(user.id);
  });

  it('ends with a logout: the access token too, everywhere', async () => {
    const tokens = memoryTokenStore();
    const page = newPage(fetch, tokens);
    const { accessToken, refreshToken, expiresAt } = await page.signInWithWallet(newWallet());
    await page.logout();
    expect(await codeOf(page.me())).to.equal('sdk/not_signed_in');
    expect(await codeOf(backend().sessions.verify(accessToken))).to.equal('auth/invalid_session');
    await tokens.save({ accessToken, refreshToken, expiresAt });
    expect(await codeOf(page.refresh())).to.equal('auth/invalid_refresh_token');
    expect(await tokens.load()).to.equal(undefined);
  });
});
