import { expect } from 'chai';
import { createRateLimiter, rateKeyOfAddress } from './rateLimiter.ts';
import { PUBLISHABLE_KEY, SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { ask, bearer, startWorld } from './testing/world.ts';
import { parseTrustProxy } from './trustProxy.ts';

describe('a rate limit', () => {
  it('allows the burst at once, then one per interval', () => {
    let nowMs = 1_000;
    const limiter = createRateLimiter({ perMinute: 300, burst: 3 }, () => nowMs);
    expect([1, 2, 3].map(() => limiter.take('a'))).to.deep.equal([0, 0, 0]);
    expect(limiter.take('a')).to.equal(1);
    expect(limiter.take('b'), 'another key').to.equal(0);
    nowMs += 200;
    expect(limiter.take('a')).to.equal(0);
    expect(limiter.take('a')).to.equal(1);
    nowMs += 60_000;
    expect(
      [1, 2, 3].map(() => limiter.take('a')),
      'full again, and no fuller',
    ).to.deep.equal([0, 0, 0]);
    expect(limiter.take('a')).to.equal(1);
  });

  it('tells in whole seconds when the next one will pass', () => {
    const limiter = createRateLimiter({ perMinute: 6, burst: 1 }, () => 0);
    limiter.take('a');
    expect(limiter.take('a')).to.equal(10);
  });

  it('tells how long to wait without taking one', () => {
    const limiter = createRateLimiter({ perMinute: 6, burst: 2 }, () => 0);
    expect([1, 2, 3].map(() => limiter.wait('a'))).to.deep.equal([0, 0, 0]);
    limiter.take('a');
    limiter.take('a');
    expect(limiter.wait('a')).to.equal(10);
  });

  it('remembers a bounded number of keys, the most recently used', () => {
    const limiter = createRateLimiter({ perMinute: 1, burst: 1 }, () => 0, 2);
    for (const key of ['a', 'b', 'c']) limiter.take(key);
    expect(limiter.take('c')).to.be.greaterThan(0);
    expect(limiter.take('a')).to.equal(0);
  });

  it('counts an IPv6 network as one client and a mapped address as its IPv4', () => {
    expect(rateKeyOfAddress('2001:db8:1:2:3:4:5:6')).to.equal(rateKeyOfAddress('2001:db8:1:2::9'));
    expect(rateKeyOfAddress('2001:db8:1:3::9')).to.not.equal(rateKeyOfAddress('2001:db8:1:2::9'));
    expect(rateKeyOfAddress('::ffff:192.0.2.1')).to.equal('192.0.2.1');
    expect(rateKeyOfAddress('::ffff:c000:201')).to.equal('192.0.2.1');
    expect(rateKeyOfAddress('::1')).to.equal('0:0:0:0::/64');
  });

  it('knows an address however it is spelt, and whatever port is forwarded with it', () => {
    for (const [client, spellings] of [
      ['192.0.2.1', ['192.0.2.1:50123', '[::ffff:192.0.2.1]:443', '0:0:0:0:0:FFFF:C000:0201']],
      ['2001:db8::1', ['[2001:db8::1]', '[2001:db8::1]:443', '2001:0DB8:0::2', '2001:db8:0:0:1::']],
      ['fe80::1', ['fe80::1%eth0', '[fe80::1%eth0]:80']],
      ['64:ff9b::192.0.2.1', ['64:ff9b::c000:201']],
    ] as const) {
      for (const spelling of spellings) {
        expect(rateKeyOfAddress(spelling), spelling).to.equal(rateKeyOfAddress(client));
      }
    }
  });

  it('keeps no more of what is forwarded than an address is long', () => {
    for (const text of ['unknown', '_hidden', '', 'a:b', '1.2.3.4:x']) {
      expect(rateKeyOfAddress(text)).to.equal(text);
    }
    expect(rateKeyOfAddress('x'.repeat(10_000))).to.have.lengthOf(64);
  });

  const signIn = simpleEndpoint({
    method: 'POST',
    path: '/sign-in',
    credential: 'pk',
    rateLimit: 'signIn',
    handle: () => ({ status: 200, body: {} }),
  });
  const perIp = { signIn: { perIp: { perMinute: 60, burst: 2 }, perKey: undefined }, secretKey: undefined };
  const signInFrom = (base: string, forwardedFor: string) =>
    ask(`${base}/sign-in`, {
      method: 'POST',
      headers: { ...bearer(PUBLISHABLE_KEY), 'x-forwarded-for': forwardedFor },
    });

  it('is by connection: a forwarded address is not trusted unless configured', async () => {
    await using world = await startWorld({ endpoints: [signIn], rateLimits: perIp, nowMs: () => 0 });
    expect((await signInFrom(world.base, '192.0.2.1')).status).to.equal(200);
    expect((await signInFrom(world.base, '192.0.2.2')).status).to.equal(200);
    const third = await signInFrom(world.base, '192.0.2.3');
    expect(third.status).to.equal(429);
    expect(third.code).to.equal('request/rate_limited');
    expect(third.headers.get('retry-after')).to.equal('1');
    expect(third.body.details).to.deep.equal({ retryAfterSeconds: 1 });
  });

  it('is by the address that a trusted proxy names', async () => {
    const trustProxy = parseTrustProxy('loopback');
    await using world = await startWorld({
      endpoints: [signIn],
      rateLimits: perIp,
      nowMs: () => 0,
      trustProxy,
    });
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      expect((await signInFrom(world.base, address)).status).to.equal(200);
    }
    await signInFrom(world.base, '192.0.2.1:50001');
    expect((await signInFrom(world.base, '192.0.2.1:50002')).status).to.equal(429);
  });

  it('is by key as well', async () => {
    const rateLimits = {
      signIn: { perIp: undefined, perKey: { perMinute: 60, burst: 1 } },
      secretKey: undefined,
    };
    await using world = await startWorld({ endpoints: [signIn], rateLimits, nowMs: () => 0 });
    expect((await signInFrom(world.base, '192.0.2.1')).status).to.equal(200);
    expect((await signInFrom(world.base, '192.0.2.1')).status).to.equal(429);
  });

  it('on secret keys is off by default, and per key if set', async () => {
    const endpoints = [
      simpleEndpoint({ path: '/a', credential: 'sk', handle: () => ({ status: 200, body: {} }) }),
    ];
    const secretKey = { perMinute: 60, burst: 1 };
    const rateLimits = { signIn: { perIp: undefined, perKey: undefined }, secretKey };
    await using world = await startWorld({ endpoints, rateLimits, nowMs: () => 0 });
    await using unlimited = await startWorld({ endpoints, nowMs: () => 0 });
    const headers = bearer(SECRET_KEY);
    expect((await ask(`${world.base}/a`, { headers })).status).to.equal(200);
    expect((await ask(`${world.base}/a`, { headers })).code).to.equal('request/rate_limited');
    for (let index = 0; index < 300; index++) {
      expect((await ask(`${unlimited.base}/a`, { headers })).status).to.equal(200);
    }
  });

  it('reads from the setting whom to trust', () => {
    for (const [text, trust] of [
      [undefined, false],
      ['', false],
      ['false', false],
      ['true', true],
      ['2', 2],
      ['loopback, 10.0.0.0/8', ['loopback', '10.0.0.0/8']],
    ] as const) {
      expect(parseTrustProxy(text)).to.deep.equal(trust);
    }
  });
});
