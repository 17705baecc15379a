/**
 * What POST /sessions/verify refuses, over HTTP: with one code and one body, so that the reason stays hidden.
 * Source: spec, Session verification; docs/api.md.
 */
import { createHmac, createPublicKey, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type ContextWorld, requireStatus, setUpApp, type TestApp, verdict } from '@coffer/host/testing';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { createPlayerClient } from '@coffer/sdk';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';
import { allowSignIn, newWallet } from '../testing/signIns.ts';
import { createSigningKeys, type KeySet } from './signingKeys.ts';

type Fields = Readonly<Record<string, unknown>>;

/** From a session that is valid when it is made. */
interface Made {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly userId: string;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const partsOf = (token: string) => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const read = (part: string): Fields => JSON.parse(Buffer.from(part, 'base64url').toString());
  return { header: read(header), claims: read(payload), signature };
};
const es256 = (key: KeyObject, header: Fields, claims: Fields): string => {
  const content = `${encoded(header)}.${encoded(claims)}`;
  const signature = createSign('sha256').update(content).sign({ key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
};
/** Exploits a verifier that lets the token name the algorithm. */
const hs256 = (secret: string, header: Fields, claims: Fields): string => {
  const content = `${encoded({ ...header, alg: 'HS256' })}.${encoded(claims)}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
};

describe('a session that is not good', () => {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  let sibling: TestApp;
  let stranger: TestApp;
  let keys: KeySet;
  before(async () => {
    world = await startAuthWorld();
    const { client, pool } = world;
    app = await setUpApp(client);
    await allowSignIn(client, app.appId);
    sibling = await setUpApp(client, { name: 'Sibling', scope: app.scopeId });
    stranger = await setUpApp(client, { name: 'Stranger' });
    await makeSession();
    const secretBox = createSecretBox(world.secretsKey);
    const nowMs = () => performance.now();
    keys = await createSigningKeys(pool, { secretBox, clock: systemClock, nowMs }).current();
  });
  after(() => world.stop());

  const page = () =>
    createPlayerClient({
      baseUrl: world.client.baseUrl,
      publishableKey: app.test.publishableKey,
    });
  const makeSession = async (): Promise<Made> => {
    const { accessToken, refreshToken, user } = await page().signInWithWallet(newWallet());
    return { accessToken, refreshToken, userId: user.id };
  };
  const verify = (sessionToken: string, key = app.test.secretKey) =>
    world.client.post('/sessions/verify', { sessionToken }, { key });
  const asOperator = (userId: string, act: string) =>
    world.client.post(`/portal/app/${app.appId}/test/users/${userId}/${act}`, {});
  const jwkOf = (kid: unknown) => keys.jwks.find((jwk) => jwk.kid === kid) ?? expect.fail('It is published.');
  const published = (kid: unknown) => createPublicKey({ key: { ...jwkOf(kid) }, format: 'jwk' });
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ownJwk = own.publicKey.export({ format: 'jwk' });
  const nowSeconds = () => Math.floor(Date.now() / 1_000);

  /** From a session that was valid a moment ago: called with another key. */
  const elsewhere: Readonly<Record<string, () => string>> = {
    'in the other environment': () => app.live.secretKey,
    'in another app of the same scope': () => sibling.test.secretKey,
    'in an app of another scope': () => stranger.test.secretKey,
    'in both another app and environment': () => stranger.live.secretKey,
  };

  /** What was done to a valid session. */
  const ended: Readonly<Record<string, (session: Made) => Promise<unknown>>> = {
    'after its logout': ({ refreshToken }) =>
      world.client.post('/auth/logout', { refreshToken }, { key: null }),
    'of a suspended user': ({ userId }) => asOperator(userId, 'suspend'),
    'of a user who was suspended and is back': async ({ userId }) => {
      await asOperator(userId, 'suspend');
      await asOperator(userId, 'reinstate');
    },
    'of an erased user': ({ userId }) => asOperator(userId, 'erase'),
  };

  /** What else may be sent in place of a valid token. */
  const forged: Readonly<Record<string, (session: Made) => string>> = {
    'that has expired, though we signed it': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      const { privateKey } = keys.signing('test');
      return es256(privateKey, header, { ...claims, iat: nowSeconds() - 3_600, exp: nowSeconds() - 1 });
    },
    'with alg none and no signature': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return `${encoded({ ...header, alg: 'none' })}.${encoded(claims)}.`;
    },
    'with alg none and the signature left': ({ accessToken }) => {
      const { header, claims, signature } = partsOf(accessToken);
      return `${encoded({ ...header, alg: 'none' })}.${encoded(claims)}.${signature}`;
    },
    'with HS256 and our public key in PEM as the secret': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      const pem = published(header.kid).export({ format: 'pem', type: 'spki' });
      return hs256(String(pem), header, claims);
    },
    'with HS256 and the text of our published key as the secret': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return hs256(JSON.stringify(jwkOf(header.kid)), header, claims);
    },
    'with the kid of another key of ours': ({ accessToken }) => {
      const { header, claims, signature } = partsOf(accessToken);
      const others = keys.jwks.filter(
        ({ kid }) => kid !== header.kid && keys.verifying(kid)?.environment === 'test',
      );
      return `${encoded({ ...header, kid: others[0]?.kid })}.${encoded(claims)}.${signature}`;
    },
    'with a kid that nobody knows': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return es256(own.privateKey, { ...header, kid: 'nobody' }, claims);
    },
    'with our kid, signed by another key': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return es256(own.privateKey, header, claims);
    },
    'signed by our key of the other environment': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      const { kid, privateKey } = keys.signing('live');
      return es256(privateKey, { ...header, kid }, claims);
    },
    'that brings its key along (jwk)': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return es256(own.privateKey, { ...header, jwk: ownJwk }, claims);
    },
    'that says where its key is (jku)': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return es256(own.privateKey, { ...header, jku: 'https://evil.example/jwks.json' }, claims);
    },
    'with a header that ours does not have, though we signed it': ({ accessToken }) => {
      const { header, claims } = partsOf(accessToken);
      return es256(keys.signing('test').privateKey, { ...header, jwk: ownJwk }, claims);
    },
    'with another user in it': ({ accessToken }) => {
      const { header, claims, signature } = partsOf(accessToken);
      return `${encoded(header)}.${encoded({ ...claims, sub: 'usr_2' })}.${signature}`;
    },
    'with a later end in it': ({ accessToken }) => {
      const { header, claims, signature } = partsOf(accessToken);
      return `${encoded(header)}.${encoded({ ...claims, exp: Number(claims.exp) + 60 })}.${signature}`;
    },
    'that is a refresh token': ({ refreshToken }) => refreshToken,
    'that is a key': () => app.test.publishableKey,
    'that is garbage': () => 'garbage',
    'that is garbage in three parts': () => 'a.b.c',
    'that is very long': ({ accessToken }) => accessToken.repeat(20),
    'with a space behind it': ({ accessToken }) => `${accessToken} `,
    'that is an empty text': () => '',
  };

  let refusal: string | undefined;
  /** 401 `auth/invalid_session`, byte for byte the same answer as all others. */
  const expectTheRefusal = async (asking: ReturnType<typeof verify>) => {
    const answer = await asking;
    expect(verdict(answer)).to.equal('401 auth/invalid_session');
    expect(answer.json.details).to.deep.equal({});
    refusal ??= answer.text;
    expect(answer.text).to.equal(refusal);
    const names = [...answer.headers.keys()].join();
    expect(names).to.include('www-authenticate').and.not.include('access-control');
  };

  it('is told by nothing else: signed again by our key, unchanged, a token is good', async () => {
    const { header, claims } = partsOf((await makeSession()).accessToken);
    requireStatus(await verify(es256(keys.signing('test').privateKey, header, claims)), 200);
  });

  describe('is refused', () => {
    for (const [where, key] of Object.entries(elsewhere)) {
      it(where, async () => {
        const { accessToken } = await makeSession();
        requireStatus(await verify(accessToken), 200);
        await expectTheRefusal(verify(accessToken, key()));
        requireStatus(await verify(accessToken), 200);
      });
    }

    for (const [when, end] of Object.entries(ended)) {
      it(when, async () => {
        const session = await makeSession();
        requireStatus(await verify(session.accessToken), 200);
        await end(session);
        await expectTheRefusal(verify(session.accessToken));
      });
    }

    for (const [what, forge] of Object.entries(forged)) {
      it(what, async () => {
        const session = await makeSession();
        const token = forge(session);
        await expectTheRefusal(verify(token));
        requireStatus(await verify(session.accessToken), 200);
        await expectTheRefusal(verify(token));
      });
    }
  });

  it('is told from a request without a session: that is malformed', async () => {
    for (const body of [{}, { sessionToken: null }, { sessionToken: 1 }, { sessionToken: [''] }]) {
      const answer = await app.test.post('/sessions/verify', body);
      expect(verdict(answer)).to.equal('400 request/invalid');
    }
  });
});
