import { generateKeyPairSync, sign } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, PLACE } from '../../testing/authRecords.ts';
import { type MethodsWorld, startMethodsWorld } from '../../testing/methodsWorld.ts';
import { offchainEnvelope } from './message.ts';

interface Player {
  readonly publicKey: string;
  readonly key: Uint8Array;
  readonly sign: (message: Uint8Array) => string;
}

function newPlayer(): Player {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  return {
    publicKey: encodeBase58(key),
    key,
    sign: (message) => sign(undefined, message, privateKey).toString('base64'),
  };
}

describe('sign-in with Solana over HTTP', () => {
  let world: MethodsWorld;
  const player = newPlayer();
  before(async () => {
    world = await startMethodsWorld(await createTestDatabase(authTemplate));
  });
  after(() => world.stop());

  interface IssueOptions {
    readonly key?: string;
    readonly origin?: string;
    readonly publicKey?: string;
  }

  async function issue({ key, origin, publicKey = player.publicKey }: IssueOptions = {}) {
    const { status, body } = await world.post(
      '/auth/siws/challenge',
      { publicKey },
      { ...(key && { key }), ...(origin && { headers: { origin } }) },
    );
    expect(status).to.equal(200);
    return body;
  }

  const textOf = (challenge: Record<string, unknown>) => Buffer.from(String(challenge.message));

  const answerTo = (challenge: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
    challenge,
    publicKey: player.publicKey,
    signature: player.sign(textOf(challenge)),
    ...more,
  });

  it('takes a challenge with what is no Unicode text, or with a NUL, for one that was altered', async () => {
    const issued = await issue();
    for (const field of ['nonce', 'domain', 'statement', 'uri', 'issuedAt', 'expiresAt', 'message']) {
      for (const text of ['\0', '\ud83c']) {
        const body = answerTo({ ...issued, [field]: `${issued[field]}${text}` });
        const { status, code } = await world.post('/auth/siws/verify', body);
        expect([status, code], `${field} ${JSON.stringify(text)}`).to.deep.equal([
          401,
          'auth/challenge_invalid',
        ]);
      }
    }
  });

  it('issues a challenge with the text to sign', async () => {
    const challenge = await issue();
    expect(challenge).to.include({
      domain: 'play.example',
      statement: 'Sign in to play.',
      uri: 'https://play.example',
      issuedAt: '2026-03-01T12:00:00.000Z',
      expiresAt: '2026-03-01T12:05:00.000Z',
    });
    expect(challenge.nonce).to.match(/^[0-9a-f]{40}$/);
    expect((await issue()).nonce).not.to.equal(challenge.nonce);
    expect(challenge.message).to.equal(
      `play.example wants you to sign in with your Solana account:\n${player.publicKey}\n\nSign in to play.\n\nURI: https://play.example\nVersion: 1\nChain ID: devnet\nNonce: ${challenge.nonce}\nIssued At: 2026-03-01T12:00:00.000Z\nExpiration Time: 2026-03-01T12:05:00.000Z`,
    );
  });

  it('signs in the key, with the first touch and the request that it was', async () => {
    const body = answerTo(await issue(), { referralCode: 'friend', gameKey: 'dice' });
    const headers = { 'x-request-id': 'req-siws' };
    const { status, body: session } = await world.post('/auth/siws/verify', body, { headers });
    expect(status).to.equal(200);
    expect(session).to.have.all.keys('accessToken', 'refreshToken', 'expiresAt', 'user');
    const last = world.signedIn.at(-1);
    expect(last?.place).to.deep.equal(PLACE);
    expect(last?.identity).to.deep.equal({ type: 'wallet', externalId: player.publicKey, profile: {} });
    expect(last?.method).to.equal('siws');
    expect(last?.firstTouch).to.deep.equal({ referralCode: 'friend', gameKey: 'dice' });
    expect(last?.context.metadata).to.include({ correlationId: 'req-siws', actor: 'key:k_publishable' });
  });

  it('takes the challenge without its text, as the specification shows it', async () => {
    const challenge = await issue();
    const { message: _message, ...shown } = challenge;
    const { status } = await world.post('/auth/siws/verify', answerTo(challenge, { challenge: shown }));
    expect(status).to.equal(200);
  });

  it('takes what a Ledger signs', async () => {
    const challenge = await issue();
    const envelope = offchainEnvelope(textOf(challenge), {
      format: 1,
      domain: 'play.example',
      key: player.key,
    });
    const { status } = await world.post(
      '/auth/siws/verify',
      answerTo(challenge, { signature: player.sign(envelope) }),
    );
    expect(status).to.equal(200);
  });

  it('lets a challenge work once, also of 50 who come at once', async () => {
    const before = world.signedIn.length;
    const body = answerTo(await issue());
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => world.post('/auth/siws/verify', body)),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    expect(answers.filter(({ code }) => code === 'auth/challenge_invalid')).to.have.length(49);
    expect(world.signedIn.length - before).to.equal(1);
    expect((await world.post('/auth/siws/verify', body)).code).to.equal('auth/challenge_invalid');
  });

  const altered = {
    nonce: '0'.repeat(40),
    domain: 'evil.example',
    statement: 'Sign in to pay.',
    uri: 'https://evil.example',
    issuedAt: '2026-03-01T12:00:00.001Z',
    expiresAt: '2026-03-01T12:06:00.000Z',
    message: 'Sign in to pay.',
  };
  for (const [field, value] of Object.entries(altered)) {
    it(`refuses a challenge with another ${field}, however it is signed`, async () => {
      const challenge = await issue();
      const changed = { ...challenge, [field]: value };
      const text = String(challenge.message).replace(String(challenge[field]), value);
      for (const message of [textOf(challenge), Buffer.from(text)]) {
        const { code } = await world.post(
          '/auth/siws/verify',
          answerTo(changed, { signature: player.sign(message) }),
        );
        expect(code).to.equal('auth/challenge_invalid');
      }
    });
  }

  it('refuses a challenge that was issued to another key', async () => {
    const other = newPlayer();
    const challenge = await issue({ publicKey: other.publicKey });
    expect((await world.post('/auth/siws/verify', answerTo(challenge))).code).to.equal(
      'auth/challenge_invalid',
    );
  });

  it('refuses a challenge in another app or environment, where it stays unused', async () => {
    const body = answerTo(await issue());
    for (const key of ['pk_live_1', 'pk_test_2']) {
      expect((await world.post('/auth/siws/verify', body, { key })).code).to.equal('auth/challenge_invalid');
    }
    expect((await world.post('/auth/siws/verify', body)).status).to.equal(200);
  });

  it('refuses the signature of another key or text, and the challenge is used up', async () => {
    const challenge = await issue();
    const wrong = answerTo(challenge, { signature: newPlayer().sign(textOf(challenge)) });
    expect((await world.post('/auth/siws/verify', wrong)).code).to.equal('auth/signature_invalid');
    expect((await world.post('/auth/siws/verify', answerTo(challenge))).code).to.equal(
      'auth/challenge_invalid',
    );
    const otherText = answerTo(await issue(), { signature: player.sign(Buffer.from('something')) });
    expect((await world.post('/auth/siws/verify', otherText)).code).to.equal('auth/signature_invalid');
  });

  it('lets a challenge live for 5 minutes, and forgets it then', async () => {
    const late = answerTo(await issue());
    const inTime = answerTo(await issue());
    world.pass(299);
    expect((await world.post('/auth/siws/verify', inTime)).status).to.equal(200);
    world.pass(1);
    expect((await world.post('/auth/siws/verify', late)).code).to.equal('auth/challenge_invalid');
    for (let issued = 0; issued < 20; issued += 1) await issue();
    const { rows } = await world.pool.query(
      'select 1 from records.auth_siws_challenges where expires_at <= $1',
      [world.now()],
    );
    expect(rows).to.deep.equal([]);
  });

  it('takes domain and uri from an allowed Origin, else from the first allowed one', async () => {
    expect(await issue({ origin: 'https://beta.play.example:8443' })).to.include({
      domain: 'beta.play.example:8443',
      uri: 'https://beta.play.example:8443',
    });
    for (const origin of ['https://evil.example', 'http://localhost:5173', 'null', 'https://play.example/']) {
      expect(await issue({ origin })).to.include({ domain: 'play.example', uri: 'https://play.example' });
    }
  });

  for (const [what, publicKey] of [
    ['text that is no base58', 'O0Il'],
    ['31 bytes', encodeBase58(new Uint8Array(31).fill(9))],
    ['a key of small order', '11111111111111111111111111111111'],
    ['a second encoding of a key', encodeBase58(new Uint8Array(32).fill(255))],
  ] as const) {
    it(`refuses a challenge for ${what}`, async () => {
      const { status, code } = await world.post('/auth/siws/challenge', { publicKey });
      expect([status, code]).to.deep.equal([400, 'request/invalid']);
    });
  }

  it('refuses what has not the shape, without using the challenge up', async () => {
    const body = answerTo(await issue());
    for (const change of [
      { signature: `${body.signature}AAAA` },
      { signature: 'x' },
      { challenge: 'x' },
      { challenge: { ...body.challenge, more: 1 } },
      { gameKey: 'no spaces' },
      { more: 1 },
    ]) {
      const { code } = await world.post('/auth/siws/verify', { ...body, ...change });
      expect(code, JSON.stringify(change)).to.equal('request/invalid');
    }
    expect((await world.post('/auth/siws/verify', body)).status).to.equal(200);
  });

  it('ignores a referral code that cannot be one', async () => {
    for (const referralCode of ['', 'x'.repeat(65)]) {
      expect(
        (await world.post('/auth/siws/verify', answerTo(await issue(), { referralCode }))).status,
      ).to.equal(200);
      expect(world.signedIn.at(-1)?.firstTouch.referralCode).to.equal(undefined);
    }
  });

  it('takes a publishable key only', async () => {
    const { status, code } = await world.post('/auth/siws/challenge', {}, { key: 'sk_test_1' });
    expect([status, code]).to.deep.equal([403, 'auth/wrong_credential_kind']);
  });

  it('is refused where the app does not allow it, before the body is looked at', async () => {
    world.set({ allowedAuthMethods: ['email', 'messenger'] });
    for (const path of ['/auth/siws/challenge', '/auth/siws/verify']) {
      const { status, code } = await world.post(path, {});
      expect([status, code]).to.deep.equal([403, 'auth/method_not_allowed']);
    }
    world.set({ allowedAuthMethods: ['siws'] });
  });

  it('is refused for an app without an origin', async () => {
    world.set({ allowedOrigins: [] });
    const { code } = await world.post('/auth/siws/challenge', { publicKey: player.publicKey });
    expect(code).to.equal('auth/method_not_allowed');
    world.set({ allowedOrigins: ['https://play.example'] });
  });
});

describe('sign-in with Solana on one machine', () => {
  let world: MethodsWorld;
  before(async () => {
    world = await startMethodsWorld(await createTestDatabase(authTemplate), {
      origins: { allowsLoopback: true, fallback: () => 'http://127.0.0.1:8080' },
    });
    world.set({ allowedOrigins: [] });
  });
  after(() => world.stop());

  for (const [origin, domain] of [
    ['http://localhost:5173', 'localhost:5173'],
    ['http://127.0.0.1:3000', '127.0.0.1:3000'],
    ['http://[::1]:3000', '[::1]:3000'],
    ['https://evil.example', '127.0.0.1:8080'],
    ['http://localhost.evil.example', '127.0.0.1:8080'],
    ['http://localhost:5173/path', '127.0.0.1:8080'],
    [undefined, '127.0.0.1:8080'],
  ] as const) {
    it(`goes by ${domain} for a request from ${origin ?? 'no origin'}`, async () => {
      const { body } = await world.post(
        '/auth/siws/challenge',
        { publicKey: newPlayer().publicKey },
        { headers: origin ? { origin } : {} },
      );
      expect(body.domain).to.equal(domain);
      expect(body.uri).to.equal(new URL(String(body.uri)).origin);
    });
  }
});
