/** The example of docs/examples/relying-party, run against the service as its README says. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { allowSignIn, newWallet } from '@coffer/auth/testing';
import { createBackendClient, createPlayerClient } from '@coffer/sdk';
import { expect } from 'chai';
import { createGameBackend } from '../../docs/examples/relying-party/gameBackend.ts';
import { useLedger } from '../../services/coffer/src/testing/ledger.ts';

const TOKEN_SECRET = 'a secret of the game, of more than 32 bytes';
const FIFTEEN_MINUTES_MS = 15 * 60 * 1_000;

describe('the example of a relying party', () => {
  const ledger = useLedger();
  const servers: Server[] = [];
  let now = Date.now();

  async function startGame(secretKey = ledger.test.secretKey, baseUrl = ledger.client.baseUrl) {
    // The first wait would already exceed the deadline, so there is one attempt.
    const retry = { deadlineMs: 20_000, firstDelayMs: 60_000, longestDelayMs: 60_000 };
    const coffer = createBackendClient({ baseUrl, secretKey, retry });
    const server = createGameBackend({ coffer, tokenSecret: TOKEN_SECRET, nowMs: () => now });
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string')
      throw new Error('The game is not listening on a port.');
    return async (method: string, path: string, bearer?: string) => {
      const response = await fetch(`http://127.0.0.1:${address.port}${path}`, {
        method,
        headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
      });
      const body: unknown = await response.json();
      return { status: response.status, body };
    };
  }

  before(() => allowSignIn(ledger.client, ledger.app.appId));
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  /** A signed-in player, and the tokens of both services. */
  async function loggedIn() {
    const page = createPlayerClient({
      baseUrl: ledger.client.baseUrl,
      publishableKey: ledger.test.publishableKey,
    });
    const { user, accessToken } = await page.signInWithWallet(newWallet());
    const game = await startGame();
    const { status, body } = await game('POST', '/login', accessToken);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ userId: user.id, wallet: user.wallets[0]?.address });
    const { token } = body as { readonly token: string }; // A missing one fails below, as no token of the game.
    return { page, user, accessToken, game, token };
  }

  it('issues its own token to a verified player', async () => {
    const { user, token } = await loggedIn();
    const [header = '', claims = '', signature] = token.split('.');
    const expected = createHmac('sha256', TOKEN_SECRET).update(`${header}.${claims}`).digest('base64url');
    expect(signature).to.equal(expected);
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).to.deep.equal({
      alg: 'HS256',
      typ: 'JWT',
    });
    const { sub, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect({ sub, lives: exp - iat }).to.deep.equal({ sub: user.id, lives: 900 });
  });

  it('accepts that token until it expires', async () => {
    const { user, game, token } = await loggedIn();
    await ledger.test.credit(user.id, '100');
    const { status, body } = await game('GET', '/balance', token);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ currency: 'CHIP', available: '100' });
    now += FIFTEEN_MINUTES_MS;
    expect((await game('GET', '/balance', token)).status).to.equal(401);
  });

  it('accepts no token but its own', async () => {
    const { game, token, accessToken } = await loggedIn();
    const [header, claims, signature] = token.split('.');
    const other = Buffer.from(JSON.stringify({ sub: 'usr_other', exp: 9_999_999_999 })).toString('base64url');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    for (const bearer of [
      undefined,
      'no token',
      accessToken,
      `${header}.${other}.${signature}`,
      `${none}.${claims}.`,
      `${header}.${claims}`,
    ]) {
      expect((await game('GET', '/balance', bearer)).status, bearer).to.equal(401);
    }
  });

  it('rejects anybody Coffer does not know: a stranger, a player of live, one who has logged out', async () => {
    const { page, game, accessToken } = await loggedIn();
    expect((await game('POST', '/login', 'no token')).status).to.equal(401);
    const live = await startGame(ledger.live.secretKey);
    expect((await live('POST', '/login', accessToken)).status).to.equal(401);
    await page.logout();
    expect((await game('POST', '/login', accessToken)).status).to.equal(401);
  });

  it('does not mistake trouble with Coffer for a stranger', async () => {
    const { accessToken } = await loggedIn();
    const revoked = await startGame(`sk_test_${'a'.repeat(43)}`);
    expect((await revoked('POST', '/login', accessToken)).status).to.equal(500);
    const cutOff = await startGame(ledger.test.secretKey, 'http://127.0.0.1:1/v1');
    expect((await cutOff('POST', '/login', accessToken)).status).to.equal(503);
  });
});
