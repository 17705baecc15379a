import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
import { authTemplate, PLACE } from '../testing/authRecords.ts';
import { type Node, type SessionsWorld, START, startSessionsWorld } from '../testing/sessionsWorld.ts';

const partsOf = (token: string) => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString());
  return { header: read(header), claims: read(payload), signature };
};
const partOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('an access token', () => {
  let world: SessionsWorld;
  let node: Node;
  let token: string;
  before(async () => {
    world = startSessionsWorld(await createTestDatabase(authTemplate));
    node = world.newNode();
    token = (await node.sessions.open(PLACE, 'usr_1', 'email')).accessToken;
  });
  after(() => world.close());

  const check = (text: string, place?: Parameters<Node['sessions']['check']>[1]) =>
    node.sessions.check(text, place);
  const signed = (key: KeyObject, header: object, payload: object) => {
    const content = `${partOf(header)}.${partOf(payload)}`;
    const signature = createSign('sha256').update(content).sign({ key, dsaEncoding: 'ieee-p1363' });
    return `${content}.${signature.toString('base64url')}`;
  };

  it('says who, where, how and until when, signed with ES256', () => {
    const { header, claims } = partsOf(token);
    const seconds = START.getTime() / 1000;
    expect(header).to.have.all.keys('alg', 'typ', 'kid').and.include({ alg: 'ES256', typ: 'at+jwt' });
    const { sid, jti, ...rest } = claims;
    expect(rest).to.deep.equal({
      iss: 'coffer/test',
      aud: PLACE.appId,
      env: 'test',
      sub: 'usr_1',
      amr: ['email'],
      auth_time: seconds,
      iat: seconds,
      exp: seconds + 3_600,
    });
    expect(sid).to.match(/^sid_/);
    expect(jti).to.match(/^[0-9a-f-]{36}$/);
  });

  it('verifies with nothing but the published keys', async () => {
    const { jwks } = await node.keys.current();
    const { header } = partsOf(token);
    const jwk = jwks.find(({ kid }) => kid === header.kid);
    expect(jwk).to.include({ kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' }).and.not.have.property('d');
    const verified = jwt.verify(
      token,
      { key: jwk ?? {}, format: 'jwk' },
      {
        algorithms: ['ES256'],
        clockTimestamp: START.getTime() / 1000,
      },
    );
    expect(verified).to.include({ sub: 'usr_1' });
  });

  it('names its environment in iss, behind the public origin where one is set', async () => {
    const issuer = 'https://wallets.example';
    const published = world.newNode({ issuer });
    for (const environment of ['test', 'live'] as const) {
      const opened = await published.sessions.open({ ...PLACE, environment }, 'usr_1', 'email');
      expect(partsOf(opened.accessToken).claims.iss).to.equal(`${issuer}/${environment}`);
      expect(await published.sessions.check(opened.accessToken)).to.include({ userId: 'usr_1' });
    }
  });

  it('issued by the former release, whose iss was the same for both environments, is verified until it ends', async () => {
    const { header, claims } = partsOf(token);
    const { privateKey } = (await node.keys.current()).signing('test');
    const former = signed(privateKey, header, { ...claims, iss: 'coffer' });
    for (const issuer of ['coffer', 'https://wallets.example']) {
      expect(await world.newNode({ issuer }).sessions.check(former, PLACE)).to.include({ userId: 'usr_1' });
    }
  });

  it('issued before the public origin was set is verified until it ends', async () => {
    const published = world.newNode({ issuer: 'https://wallets.example' });
    expect(await published.sessions.check(token, PLACE)).to.include({ userId: 'usr_1' });
  });

  it('is good at its own app and environment only', async () => {
    expect(await check(token, PLACE)).to.include({ userId: 'usr_1' });
    expect(await check(token, { ...PLACE, environment: 'live' })).to.equal(undefined);
    expect(await check(token, { ...PLACE, appId: 'app_2' }), 'in the same scope').to.equal(undefined);
  });

  describe('is refused', () => {
    const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cases: Readonly<Record<string, () => Promise<string> | string>> = {
      'when it is not signed at all (alg none)': () => {
        const { claims } = partsOf(token);
        return `${partOf({ alg: 'none', typ: 'at+jwt', kid: partsOf(token).header.kid })}.${partOf(claims)}.`;
      },
      'when it only says alg none, with the signature left': () => {
        const { header, claims, signature } = partsOf(token);
        return `${partOf({ ...header, alg: 'none' })}.${partOf(claims)}.${signature}`;
      },
      'with HS256 keyed by the public key, in every spelling of it': async () => {
        const { header, claims } = partsOf(token);
        const jwk = (await node.keys.current()).jwks.find(({ kid }) => kid === header.kid);
        return jwt.sign(claims, Buffer.from(JSON.stringify(jwk)), {
          algorithm: 'HS256',
          header: { alg: 'HS256', typ: 'at+jwt', kid: String(header.kid) },
        });
      },
      'signed by another key under a kid of ours': () => {
        const { header, claims } = partsOf(token);
        return signed(own.privateKey, header, claims);
      },
      'signed by another key under a kid of its own': () => {
        const { header, claims } = partsOf(token);
        return signed(own.privateKey, { ...header, kid: randomUUID() }, claims);
      },
      'that brings its own key along': () => {
        const { header, claims } = partsOf(token);
        const jwk = own.publicKey.export({ format: 'jwk' });
        return signed(own.privateKey, { ...header, jwk, jku: 'https://evil.example/jwks' }, claims);
      },
      'without a kid': () => {
        const { claims } = partsOf(token);
        return signed(own.privateKey, { alg: 'ES256', typ: 'at+jwt' }, claims);
      },
      'with another user in it': () => {
        const { header, claims, signature } = partsOf(token);
        return `${partOf(header)}.${partOf({ ...claims, sub: 'usr_2' })}.${signature}`;
      },
      'with another kid of ours, of the other environment': async () => {
        const { header, claims, signature } = partsOf(token);
        const other = (await node.keys.current()).signing('live').kid;
        return `${partOf({ ...header, kid: other })}.${partOf(claims)}.${signature}`;
      },
      'signed by the live key for test': async () => {
        const { claims } = partsOf(token);
        const { kid, privateKey } = (await node.keys.current()).signing('live');
        return signed(privateKey, { alg: 'ES256', typ: 'at+jwt', kid }, claims);
      },
      'of another type, though signed by us': async () => {
        const { claims } = partsOf(token);
        const { kid, privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, { alg: 'ES256', typ: 'JWT', kid }, claims);
      },
      'of another issuer, though signed by us': async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, header, { ...claims, iss: 'elsewhere/test' });
      },
      'that names the other environment as its issuer, though signed by us': async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, header, { ...claims, iss: 'coffer/live' });
      },
      'that never ends, though signed by us': async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        const { exp: _end, ...endless } = claims;
        return signed(privateKey, header, endless);
      },
      'of a session that we do not know, though signed by us': async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, header, { ...claims, sid: 'sid_nobody' });
      },
      "of somebody else's session, though signed by us": async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, header, { ...claims, sub: 'usr_2' });
      },
      'for an app that the session is not of, though signed by us': async () => {
        const { header, claims } = partsOf(token);
        const { privateKey } = (await node.keys.current()).signing('test');
        return signed(privateKey, header, { ...claims, aud: 'app_2' });
      },
    };

    it('only for what is wrong with it: signed by us, and unchanged, it is good', async () => {
      const { header, claims } = partsOf(token);
      const { privateKey } = (await node.keys.current()).signing('test');
      expect(await check(signed(privateKey, header, claims))).to.include({ userId: 'usr_1' });
    });

    for (const [what, forge] of Object.entries(cases)) {
      it(what, async () => {
        const forged = await forge();
        expect(await check(token), 'the good one is remembered').not.to.equal(undefined);
        expect(await check(forged)).to.equal(undefined);
        expect(await check(forged), 'again').to.equal(undefined);
      });
    }

    it('when any character of it is another', async () => {
      for (let index = 0; index < token.length - 1; index++) {
        const other = token[index] === 'A' ? 'B' : 'A';
        expect(await check(token.slice(0, index) + other + token.slice(index + 1)), `${index}`).to.equal(
          undefined,
        );
      }
    });

    it('when it is any text, without a word about why', () =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.string(),
            fc.tuple(fc.string(), fc.json(), fc.base64String()).map((parts) => parts.join('.')),
            fc
              .tuple(fc.json(), fc.json(), fc.string())
              .map(([header, payload, rest]) => `${partOf(header)}.${partOf(payload)}.${rest}`),
            fc
              .tuple(fc.string(), fc.string())
              .map(([payload, signature]) => `${token.split('.')[0]}.${payload}.${signature}`),
          ),
          async (text) => {
            expect(await check(text)).to.equal(undefined);
          },
        ),
      ));
  });
});
