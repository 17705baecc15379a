import { expect } from 'chai';
import { createPlayerClient } from './player.ts';
import { tokens, user, walletSummary } from './testing/bodies.ts';
import {
  answers,
  BASE_URL,
  codeOf,
  losesTheReply,
  manualTiming,
  refuses,
  rejectionOf,
  type Step,
  scriptedService,
} from './testing/scriptedService.ts';
import { memoryTokenStore, type TokenStore, type Tokens } from './tokens.ts';

const NOW = Date.parse('2030-01-01T12:00:00.000Z');
const session = (generation: number) => ({ ...tokens(generation), user });
const me = { user, wallet: walletSummary };

async function playerOf(steps: readonly Step[], kept?: Tokens, store: TokenStore = memoryTokenStore()) {
  const service = scriptedService(...steps);
  await store.save(kept);
  const client = createPlayerClient({
    baseUrl: BASE_URL,
    publishableKey: 'pk_test_a',
    tokens: store,
    fetch: service.fetch,
    timing: manualTiming(),
    wallClockMs: () => NOW,
  });
  const paths = () => service.sent.map(({ path }) => path.replace('/v1', ''));
  return { client, sent: service.sent, paths, store };
}

describe('signing in', () => {
  const challenge = {
    nonce: 'n1',
    domain: 'game.example',
    statement: 'Sign in to play.',
    uri: 'https://game.example',
    issuedAt: '2030-01-01T12:00:00.000Z',
    expiresAt: '2030-01-01T12:05:00.000Z',
    message: 'game.example wants you to sign in: é',
    added: 'by a newer service',
  };

  it('with a wallet signs the bytes of the message and sends the challenge back as it came', async () => {
    const { client, sent, paths, store } = await playerOf([answers(challenge), answers(session(1))]);
    const signed: string[] = [];
    const answer = await client.signInWithWallet({
      publicKey: 'P1',
      signMessage: async (message) => {
        signed.push(new TextDecoder().decode(message));
        return Uint8Array.from({ length: 64 }, (_, index) => index + 150);
      },
      referralCode: 'FRIEND',
    });
    expect(answer).to.deep.equal(session(1));
    expect(signed).to.deep.equal([challenge.message]);
    expect(paths()).to.deep.equal(['/auth/siws/challenge', '/auth/siws/verify']);
    expect(sent[0]?.body).to.deep.equal({ publicKey: 'P1' });
    expect(sent[1]?.body).to.deep.equal({
      challenge,
      publicKey: 'P1',
      signature: Buffer.from(Array.from({ length: 64 }, (_, index) => index + 150)).toString('base64'),
      referralCode: 'FRIEND',
    });
    expect(sent.map(({ headers }) => headers.get('authorization'))).to.deep.equal(
      Array(2).fill('Bearer pk_test_a'),
    );
    expect(await store.load()).to.deep.equal(tokens(1));
  });

  const signature = new Uint8Array(64).fill(7);
  for (const [title, signed] of [
    ['the bytes alone', signature],
    ['an object, as most wallets do', { signature, publicKey: 'P1' }],
    ['a list, as the Wallet Standard has it', [{ signature, signedMessage: new Uint8Array(3) }]],
  ] as const) {
    it(`takes a signature as ${title}`, async () => {
      const { client, sent } = await playerOf([answers(challenge), answers(session(1))]);
      await client.signInWithWallet({ publicKey: 'P1', signMessage: () => signed });
      expect(sent[1]?.body.signature).to.equal(Buffer.from(signature).toString('base64'));
    });
  }

  it('sends no signature that is none', async () => {
    for (const signed of [new Uint8Array(3), { signature: new Uint8Array(0) }, []]) {
      const { client, sent } = await playerOf([answers(challenge), answers(session(1))]);
      const signing = client.signInWithWallet({ publicKey: 'P1', signMessage: () => signed });
      expect(await rejectionOf(signing)).to.be.instanceOf(TypeError);
      expect(sent).to.have.lengthOf(1);
    }
  });

  it('asks for nothing that CORS would have to allow by name', async () => {
    const { client, sent } = await playerOf([answers(session(1))]);
    await client.messenger.verify({ initData: 'hash=1' });
    expect([...(sent[0]?.headers.keys() ?? [])]).to.have.members(['accept', 'authorization', 'content-type']);
  });

  it('with a messenger or an email address keeps the tokens', async () => {
    const { client, sent, paths, store } = await playerOf([
      answers(session(1)),
      answers({ sent: true, expiresAt: challenge.expiresAt }),
      answers(session(2)),
    ]);
    await client.messenger.verify({ initData: 'hash=1', gameKey: 'dice' });
    expect(await store.load()).to.deep.equal(tokens(1));
    expect(await client.email.initiate('a@b.example')).to.deep.equal({
      sent: true,
      expiresAt: challenge.expiresAt,
    });
    await client.email.verify({ email: 'a@b.example', code: '012345' });
    expect(await store.load()).to.deep.equal(tokens(2));
    expect(paths()).to.deep.equal(['/auth/messenger/verify', '/auth/email/initiate', '/auth/email/verify']);
    expect(sent.map(({ body }) => body)).to.deep.equal([
      { initData: 'hash=1', gameKey: 'dice' },
      { email: 'a@b.example' },
      { email: 'a@b.example', code: '012345' },
    ]);
  });

  it('does not repeat a proof that the first attempt may have used up', async () => {
    for (const step of [losesTheReply, refuses(503, 'service/outcome_unknown')]) {
      const { client, sent } = await playerOf([step]);
      const error = await rejectionOf(client.email.verify({ email: 'a@b.example', code: '012345' }));
      expect(error).to.deep.include({ outcome: 'unknown' });
      expect(sent).to.have.length(1);
    }
  });

  it('repeats it where the service has done nothing, and repeats what does not use itself up', async () => {
    const overloaded = await playerOf([refuses(503, 'service/overloaded'), answers(session(1))]);
    await overloaded.client.email.verify({ email: 'a@b.example', code: '012345' });
    expect(overloaded.sent).to.have.length(2);
    const lost = await playerOf([losesTheReply, answers(session(1))]);
    await lost.client.messenger.verify({ initData: 'hash=1' });
    expect(lost.sent).to.have.length(2);
  });

  it('takes no secret key', () => {
    expect(() => createPlayerClient({ baseUrl: BASE_URL, publishableKey: 'sk_test_a' })).to.throw(TypeError);
  });
});

describe('refreshing', () => {
  it('is one request for all who ask at the same time, and another one later', async () => {
    const { client, sent, store } = await playerOf([answers(session(2)), answers(session(3))], tokens(1));
    const all = await Promise.all(Array.from({ length: 10 }, () => client.refresh()));
    expect(new Set(all.map(({ accessToken }) => accessToken))).to.deep.equal(new Set(['access-2']));
    expect(sent).to.have.length(1);
    expect(sent[0]?.body).to.deep.equal({ refreshToken: 'refresh-1' });
    expect(sent[0]?.headers.has('authorization'), 'the refresh token is the credential').to.equal(false);
    await client.refresh();
    expect(sent[1]?.body).to.deep.equal({ refreshToken: 'refresh-2' });
    expect(await store.load()).to.deep.equal(tokens(3));
  });

  it('repeats the same token when the answer was lost', async () => {
    const { client, sent } = await playerOf([losesTheReply, answers(session(2))], tokens(1));
    await client.refresh();
    expect(sent.map(({ body }) => body.refreshToken)).to.deep.equal(['refresh-1', 'refresh-1']);
  });

  it('can be tried again after it has failed', async () => {
    const { client, store } = await playerOf(
      [refuses(500, 'service/internal'), answers(session(2))],
      tokens(1),
    );
    expect(await codeOf(client.refresh())).to.equal('service/internal');
    expect(await store.load(), 'nothing says that the session has ended').to.deep.equal(tokens(1));
    expect((await client.refresh()).accessToken).to.equal('access-2');
  });

  for (const [status, code] of [
    [401, 'auth/invalid_refresh_token'],
    [403, 'auth/user_suspended'],
  ] as const) {
    it(`forgets the tokens on ${code}`, async () => {
      const { client, store } = await playerOf([refuses(status, code)], tokens(1));
      expect(await codeOf(client.refresh())).to.equal(code);
      expect(await store.load()).to.equal(undefined);
      expect(await codeOf(client.accessToken())).to.equal('sdk/not_signed_in');
    });
  }

  it('does not bring a session back that was logged out meanwhile', async () => {
    const store = memoryTokenStore();
    const { client } = await playerOf(
      [
        async () => {
          await store.save(undefined);
          return Response.json(session(2));
        },
      ],
      tokens(1),
      store,
    );
    expect(await codeOf(client.refresh())).to.equal('sdk/not_signed_in');
    expect(await store.load()).to.equal(undefined);
  });

  it('leaves a session alone that was signed in meanwhile', async () => {
    const store = memoryTokenStore();
    const { client } = await playerOf(
      [
        async (request, signal) => {
          await store.save(tokens(7));
          return refuses(401, 'auth/invalid_refresh_token')(request, signal);
        },
      ],
      tokens(1),
      store,
    );
    expect(await codeOf(client.refresh())).to.equal('auth/invalid_refresh_token');
    expect(await store.load()).to.deep.equal(tokens(7));
  });

  it('agrees with another tab that has refreshed at the same time', async () => {
    const store = memoryTokenStore();
    const { client } = await playerOf(
      [
        async () => {
          await store.save(tokens(2));
          return Response.json(session(2));
        },
      ],
      tokens(1),
      store,
    );
    expect((await client.refresh()).refreshToken).to.equal('refresh-2');
    expect(await store.load()).to.deep.equal(tokens(2));
  });
});

describe('a signed-in player', () => {
  it('has an access token that lives a minute at least', async () => {
    const soon = tokens(1, '2030-01-01T12:01:00.000Z');
    const { client, sent } = await playerOf([answers(session(2))], soon);
    const all = await Promise.all([client.accessToken(), client.accessToken()]);
    expect(all).to.deep.equal(['access-2', 'access-2']);
    expect(await client.accessToken(), 'the new one lives for an hour').to.equal('access-2');
    expect(sent).to.have.length(1);
  });

  it('sees themselves', async () => {
    const { client, sent, paths } = await playerOf([answers(me)], tokens(1));
    expect(await client.me()).to.deep.equal(me);
    expect(paths()).to.deep.equal(['/me']);
    expect(sent[0]?.headers.get('authorization')).to.equal('Bearer access-1');
  });

  it('is shown with a fresh token where the kept one is no longer good', async () => {
    const { client, paths } = await playerOf(
      [refuses(401, 'auth/invalid_session'), answers(session(2)), answers(me)],
      tokens(1),
    );
    expect(await client.me()).to.deep.equal(me);
    expect(paths()).to.deep.equal(['/me', '/auth/refresh', '/me']);
  });

  it('is not asked about over and over', async () => {
    const refused = refuses(401, 'auth/invalid_session');
    const { client, sent } = await playerOf([refused, answers(session(2)), refused], tokens(1));
    expect(await codeOf(client.me())).to.equal('auth/invalid_session');
    expect(sent).to.have.length(3);
  });

  it('is forgotten here before the service hears of the logout', async () => {
    const { client, sent, paths, store } = await playerOf([refuses(500, 'service/internal')], tokens(1));
    expect(await codeOf(client.logout())).to.equal('service/internal');
    expect(await store.load()).to.equal(undefined);
    expect(paths()).to.deep.equal(['/auth/logout']);
    expect(sent[0]?.body).to.deep.equal({ refreshToken: 'refresh-1' });
    await client.logout();
    expect(sent, 'there is nothing to revoke any more').to.have.length(1);
  });

  it('is logged out by an answer without a body', async () => {
    const { client } = await playerOf([answers(undefined, 204)], tokens(1));
    await client.logout();
  });
});
