import { once } from 'node:events';
import { Rejection } from '@coffer/kernel';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { type Endpoint, endpoint } from './endpoint.ts';
import { buy, rejectShop, SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { openSocket, readUntil } from './testing/sockets.ts';
import { asJson, ask, bearer, startWorld } from './testing/world.ts';

class StoreAwayError extends Error {}

const failing = (path: string, fail: () => never): Endpoint =>
  simpleEndpoint({ path, errors: ['shop/closed', 'shop/too_poor'], handle: fail });

describe('an answer', () => {
  it('echoes a request id of the right form and makes one otherwise', async () => {
    await using world = await startWorld();
    const idFor = async (sent?: string) => {
      const headers: Record<string, string> = sent === undefined ? {} : { 'x-request-id': sent };
      return (await ask(`${world.base}/nowhere`, { headers })).headers.get('x-request-id');
    };
    expect(await idFor('Ab.9_-')).to.equal('Ab.9_-');
    expect(await idFor('a'.repeat(128))).to.equal('a'.repeat(128));
    for (const wrong of [undefined, 'a'.repeat(129), 'a b', 'a,b', 'é']) {
      expect(await idFor(wrong), wrong).to.match(/^[0-9a-f-]{36}$/);
    }
  });

  it('carries the same few headers whether it succeeds or not, and no trace of the framework', async () => {
    await using world = await startWorld();
    const bought = await ask(`${world.base}/shop/purchases`, {
      method: 'POST',
      headers: { ...bearer(SECRET_KEY), ...asJson },
      body: '{"item":"a","price":"1"}',
    });
    const lost = await ask(`${world.base}/nowhere`);
    for (const { headers } of [bought, lost]) {
      expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      for (const absent of ['x-powered-by', 'etag', 'server'])
        expect(headers.has(absent), absent).to.equal(false);
    }
  });

  it('may be cached only where it says so, and for the time it says', async () => {
    const endpoints = [
      simpleEndpoint({ path: '/keys', handle: () => ({ status: 200, body: {}, maxAgeSeconds: 300 }) }),
    ];
    await using world = await startWorld({ endpoints });
    expect((await ask(`${world.base}/keys`)).headers.get('cache-control')).to.equal('public, max-age=300');
  });

  it('says when it is a replay, and has no body with 204', async () => {
    const endpoints = [
      simpleEndpoint({ path: '/again', handle: () => ({ status: 200, body: { a: 1 }, replayed: true }) }),
      simpleEndpoint({ path: '/gone', success: { status: 204 }, handle: () => ({ status: 204 }) }),
    ];
    await using world = await startWorld({ endpoints });
    expect((await ask(`${world.base}/again`)).headers.get('idempotency-replayed')).to.equal('true');
    const gone = await fetch(`${world.base}/gone`);
    expect([gone.status, await gone.text()]).to.deep.equal([204, '']);
    const head = await fetch(`${world.base}/again`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).to.deep.equal([
      200,
      '7',
      '',
    ]);
  });

  it('gives the handler the caller, the input and the deadline', async () => {
    const context = endpoint({
      method: 'GET',
      path: '/context',
      credential: 'sk',
      summary: 'Tell the context',
      success: { status: 200 },
      errors: [],
      handle: ({ caller, context }) => ({
        status: 200,
        body: {
          keyId: caller.keyId,
          actor: context.actor,
          requestId: context.requestId,
          header: context.header('X-Some'),
          inTime: context.deadlineMs > performance.now(),
        },
      }),
    });
    await using world = await startWorld({ endpoints: [context] });
    const headers = { ...bearer(SECRET_KEY), 'x-request-id': 'r1', 'x-some': 'thing' };
    expect((await ask(`${world.base}/context`, { headers })).body).to.deep.equal({
      keyId: 'key_1',
      actor: 'key:key_1',
      requestId: 'r1',
      header: 'thing',
      inTime: true,
    });
  });

  it("to a rejection is the catalogue's entry, with amounts as text", async () => {
    const endpoints = [
      failing('/poor', () => {
        throw rejectShop('shop/too_poor', { price: 2n ** 64n, nested: [{ balance: 1n }] });
      }),
    ];
    await using world = await startWorld({ endpoints });
    const answer = await ask(`${world.base}/poor`, { headers: { 'x-request-id': 'r-41' } });
    expect(answer.status).to.equal(409);
    expect(answer.body).to.deep.equal({
      code: 'shop/too_poor',
      message: 'The price exceeds the balance.',
      details: { price: '18446744073709551616', nested: [{ balance: '1' }] },
    });
    expect(world.logLines).to.have.lengthOf(1);
    const told = { level: 'info', requestId: 'r-41', route: 'GET /poor', status: 409, code: 'shop/too_poor' };
    expect(JSON.parse(world.logLines[0] ?? ''))
      .to.include(told)
      .and.not.have.property('details');
  });

  it('can be found by its request id, wherever it was refused, without logging an unknown path', async () => {
    await using world = await startWorld();
    const refusals: readonly (readonly [path: string, init: RequestInit, route: string, code: string])[] = [
      ['/v1/nowhere?a=1', {}, 'GET unmatched', 'request/not_found'],
      ['/v1/shop/purchases', { method: 'PUT' }, 'PUT unmatched', 'request/method_not_allowed'],
      ['/v1/shop/purchases', { method: 'POST' }, 'POST /shop/purchases', 'auth/missing_credentials'],
      ['/nowhere', {}, 'GET unmatched', 'request/not_found'],
      ['/healthz', { method: 'POST' }, 'POST /healthz', 'request/method_not_allowed'],
    ];
    for (const [path, init, route, code] of refusals) {
      const answer = await ask(`${world.url}${path}`, init);
      expect(answer.code, path).to.equal(code);
      const requestId = answer.headers.get('x-request-id');
      const told = JSON.parse(world.logLines.at(-1) ?? '{}');
      expect(told, path).to.include({ requestId, route, code, status: answer.status });
    }
    expect(world.logLines).to.have.lengthOf(refusals.length);
    expect(world.logLines.join('')).to.not.include('nowhere');
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const mistakes: readonly (readonly [string, () => never])[] = [
    ['an error', () => expect.fail('the password is hunter2')],
    [
      'an unlisted code',
      () => {
        throw new Rejection('shop/unlisted', { balance: 1n });
      },
    ],
    [
      'a code named like a method',
      () => {
        throw new Rejection('toString');
      },
    ],
    [
      'details that are no JSON',
      () => {
        throw rejectShop('shop/closed', circular);
      },
    ],
    [
      'no error at all',
      () => {
        throw undefined;
      },
    ],
  ];
  for (const [what, mistake] of mistakes) {
    it(`to ${what} reveals nothing, and the log has the details`, async () => {
      await using world = await startWorld({ endpoints: [failing('/broken', mistake)] });
      const answer = await ask(`${world.base}/broken`, { headers: { 'x-request-id': 'r-42' } });
      expect(answer.status).to.equal(500);
      expect(answer.code).to.equal('service/internal');
      expect(answer.body.details).to.deep.equal({});
      expect(JSON.stringify(answer.body)).to.not.include('hunter2');
      expect(world.logLines).to.have.lengthOf(1);
      expect(JSON.parse(world.logLines[0] ?? '')).to.include({
        level: 'error',
        requestId: 'r-42',
        route: 'GET /broken',
      });
    });
  }

  it('that breaks its own schema fails, where replies are checked', async () => {
    const wrong = simpleEndpoint({
      ...buy,
      path: '/wrong',
      method: 'GET',
      credential: 'none',
      handle: () => ({ status: 201, body: { item: 1 } }),
    });
    const { body: _none, ...withoutBody } = wrong;
    await using world = await startWorld({ endpoints: [withoutBody] });
    expect((await ask(`${world.base}/wrong`)).code).to.equal('service/internal');
    expect(world.logLines[0]).to.include('answered a different shape than declared');
  });

  it('with a code that its endpoint does not declare is a mistake of ours, where answers are checked', async () => {
    const undeclared = simpleEndpoint({
      path: '/undeclared',
      handle: () => {
        throw rejectShop('shop/closed');
      },
    });
    await using world = await startWorld({ endpoints: [undeclared] });
    expect((await ask(`${world.base}/undeclared`)).code).to.equal('service/internal');
    expect(world.logLines.join()).to.include(
      'GET /undeclared answered shop/closed, which it does not declare',
    );
  });

  it('in lines is checked line by line', async () => {
    const lines = simpleEndpoint({
      path: '/lines',
      success: { status: 200, lines: true, schema: z.strictObject({ line: z.int() }) },
      handle: () => ({
        status: 200,
        lines: (async function* () {
          yield { line: 'one' };
        })(),
      }),
    });
    await using world = await startWorld({ endpoints: [lines] });
    expect((await ask(`${world.base}/lines`)).code).to.equal('service/internal');
  });

  it('to a failure of a dependency is chosen by the composition root, with Retry-After', async () => {
    const endpoints = [
      failing('/away', () => {
        throw new StoreAwayError('connection refused');
      }),
    ];
    await using world = await startWorld({
      endpoints,
      errorOf: (error) =>
        error instanceof StoreAwayError ? { code: 'service/unavailable', retryAfterSeconds: 7 } : undefined,
    });
    for (let index = 0; index < 3; index++) {
      const answer = await ask(`${world.base}/away`);
      expect(answer.status).to.equal(503);
      expect(answer.code).to.equal('service/unavailable');
      expect(answer.headers.get('retry-after')).to.equal('7');
    }
    expect(world.logLines, 'one line says enough for a while').to.have.lengthOf(1);
  });

  it('comes in bounded time: when a handler overruns, the outcome of a write is unknown', async () => {
    const released = Promise.withResolvers<void>();
    const slow = (method: 'GET' | 'POST') =>
      simpleEndpoint({
        method,
        path: '/slow',
        handle: async () => {
          await released.promise;
          return { status: 200, body: {} };
        },
      });
    await using world = await startWorld({ endpoints: [slow('GET'), slow('POST')], requestTimeoutMs: 1 });
    for (const [method, code] of [
      ['POST', 'service/outcome_unknown'],
      ['GET', 'service/unavailable'],
    ] as const) {
      const answer = await ask(`${world.base}/slow`, { method });
      expect([answer.status, answer.code]).to.deep.equal([503, code]);
      expect(answer.headers.get('retry-after')).to.equal('1');
    }
    released.resolve();
  });

  describe('that comes before its checks are done', () => {
    /** A write that waits at its feature switch for the spec. */
    async function startHeld(requestTimeoutMs?: number) {
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      let runs = 0;
      const held = simpleEndpoint({
        method: 'POST',
        path: '/held',
        admit: async () => {
          asked.resolve();
          await released.promise;
        },
        handle: () => {
          runs++;
          return { status: 200, body: {} };
        },
      });
      const requestsInFlight = new Int32Array(1);
      const world = await startWorld({
        endpoints: [held],
        requestsInFlight,
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      });
      return {
        world,
        asked: asked.promise,
        /** How often the handler has run once nothing is being served any more. */
        async runsAfterRelease() {
          released.resolve();
          await until(() => requestsInFlight[0] === 0);
          return runs;
        },
      };
    }
    const head = (length: number) =>
      `POST /v1/held HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

    for (const [what, length] of [
      ['without a body', 0],
      ['whose body never comes', 17],
    ] as const) {
      it(`says that nothing was done, and nothing is: a write ${what}`, async () => {
        const { world, runsAfterRelease } = await startHeld(1);
        await using _ = world;
        const socket = await openSocket(world.port);
        socket.write(head(length));
        expect(await readUntil(socket, '}')).to.include('service/unavailable');
        expect(await runsAfterRelease()).to.equal(0);
        socket.destroy();
      });

      it(`is for nobody if the client leaves, and nothing is done: a write ${what}`, async () => {
        const { world, asked, runsAfterRelease } = await startHeld();
        await using _ = world;
        const socket = await openSocket(world.port);
        socket.write(head(length));
        await asked;
        const closed = once(socket, 'close');
        socket.resetAndDestroy();
        await closed;
        // The server learns of it before it learns of this.
        await ask(`${world.url}/healthz`);
        expect(await runsAfterRelease()).to.equal(0);
      });
    }
  });

  it('to one request too many is 503 at once, and later requests are served', async () => {
    const released = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = simpleEndpoint({
      path: '/slow',
      handle: async () => {
        begun.resolve();
        await released.promise;
        return { status: 200, body: {} };
      },
    });
    await using world = await startWorld({ endpoints: [slow], maxConcurrentRequests: 1 });
    const first = ask(`${world.base}/slow`);
    await begun.promise;
    const second = await ask(`${world.base}/slow`);
    expect(second.status).to.equal(503);
    expect(second.code).to.equal('service/overloaded');
    expect(second.headers.get('retry-after')).to.equal('1');
    released.resolve();
    expect((await first).status).to.equal(200);
    expect((await ask(`${world.base}/slow`)).status).to.equal(200);
  });

  it('to one request too many is 503 where several servers count together', async () => {
    const released = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = simpleEndpoint({
      path: '/slow',
      handle: async () => {
        begun.resolve();
        await released.promise;
        return { status: 200, body: {} };
      },
    });
    const requestsInFlight = new Int32Array(1);
    const options = { endpoints: [slow], maxConcurrentRequests: 1, requestsInFlight };
    await using one = await startWorld(options);
    await using other = await startWorld(options);
    const first = ask(`${one.base}/slow`);
    await begun.promise;
    expect(await ask(`${other.base}/slow`)).to.include({ status: 503, code: 'service/overloaded' });
    released.resolve();
    expect((await first).status).to.equal(200);
    expect((await ask(`${other.base}/slow`)).status).to.equal(200);
    expect(requestsInFlight[0]).to.equal(0);
  });

  it('never comes from an app whose endpoints contradict each other or the catalogue', async () => {
    const one = simpleEndpoint({ path: '/a', errors: ['shop/unlisted'], handle: () => ({ status: 200 }) });
    const failure = await startWorld({ endpoints: [one] }).catch((error: Error) => error.message);
    expect(failure).to.equal('GET /a declares codes that are in no catalogue: shop/unlisted.');
  });
});
