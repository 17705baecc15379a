import { once } from 'node:events';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { startServer } from './server.ts';
import { SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { openSocket, readToEnd, readUntil } from './testing/sockets.ts';
import { asJson, ask, bearer, startWorld } from './testing/world.ts';

const quick = simpleEndpoint({ path: '/quick', handle: () => ({ status: 200, body: { quick: true } }) });

/** An endpoint that a spec holds open. */
function held() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = simpleEndpoint({
    path: '/slow',
    handle: async () => {
      begun.resolve();
      await released.promise;
      return { status: 200, body: { slow: true } };
    },
  });
  return { begun: begun.promise, release: released.resolve, endpoints: [slow, quick] };
}

describe('a request that is not valid HTTP', () => {
  const rude: readonly (readonly [what: string, bytes: string, status: number, code: string])[] = [
    ['is not HTTP at all', 'hello\r\n\r\n', 400, 'request/malformed'],
    ['has no Host', 'GET /v1/quick HTTP/1.1\r\n\r\n', 400, 'request/malformed'],
    ['asks for a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'request/malformed'],
    ['has two Hosts', 'GET /v1/quick HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n', 400, 'request/malformed'],
    [
      'names no path',
      'GET http:// HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      400,
      'request/malformed',
    ],
    [
      'has two lengths',
      'POST /v1/quick HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
      400,
      'request/malformed',
    ],
    [
      'has a length and is chunked',
      'POST /v1/quick HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'request/malformed',
    ],
    [
      'has headers without end',
      `GET /v1/quick HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'request/headers_too_large',
    ],
    [
      'has more than 100 headers',
      `GET /v1/quick HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(100)}\r\n`,
      431,
      'request/headers_too_large',
    ],
  ];
  for (const [what, bytes, status, code] of rude) {
    it(`because it ${what} gets ${status} ${code} in the envelope, and the connection ends`, async () => {
      await using world = await startWorld({ endpoints: [quick] });
      const socket = await openSocket(world.port);
      socket.end(bytes);
      const [head = '', body = ''] = (await readToEnd(socket)).split('\r\n\r\n');
      expect(head).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).to.match(/x-request-id: /i);
      expect(JSON.parse(body)).to.include({ code }).and.have.property('details').that.deep.equals({});
      const [line = ''] = world.logLines;
      expect(JSON.parse(line)).to.include({ status, code });
      expect(head.toLowerCase()).to.include(`x-request-id: ${JSON.parse(line).requestId}`);
    });
  }

  it('may have 100 headers', async () => {
    await using world = await startWorld({ endpoints: [quick] });
    const socket = await openSocket(world.port);
    socket.end(`GET /v1/quick HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(99)}\r\n`);
    expect(await readToEnd(socket)).to.match(/^HTTP\/1\.1 200 /);
  });

  for (const [what, garbage] of [
    ['garbage', 'garbage\r\n\r\n'],
    ['headers without end', `GET /v1/quick HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}`],
    ['a broken body', 'POST /v1/quick HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno length'],
  ] as const) {
    for (const end of ['and waits', 'and closes its side'] as const) {
      it(`behind requests that are does not cost them their answers: ${what}, ${end}`, async () => {
        const { begun, release, endpoints } = held();
        await using world = await startWorld({ endpoints });
        const socket = await openSocket(world.port);
        const valid = (path: string) => `GET /v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
        const bytes = `${valid('/slow')}${valid('/quick')}${garbage}`;
        if (end === 'and waits') socket.write(bytes);
        else socket.end(bytes);
        await begun;
        if (socket.writable) socket.write('more garbage');
        const received = readToEnd(socket);
        release();
        const answers = (await received).split(/(?=HTTP\/1\.1 )/);
        const statuses = answers.map((answer) => answer.slice(9, 12));
        expect(statuses.slice(0, 2)).to.deep.equal(['200', '200']);
        expect(statuses.at(-1)).to.equal(garbage.includes('X-Long') ? '431' : '400');
        expect(answers[0]).to.include('{"slow":true}');
        expect(answers[1]).to.include('{"quick":true}');
      });
    }
  }

  it('is dropped when its connection closes before the earlier requests are answered', async () => {
    const { begun, release, endpoints } = held();
    await using world = await startWorld({ endpoints });
    const socket = await openSocket(world.port);
    socket.write('GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\ngarbage\r\n\r\n');
    await begun;
    socket.resetAndDestroy();
    release();
    expect((await ask(`${world.base}/quick`)).status).to.equal(200);
  });

  it('may name the whole address, as proxies do', async () => {
    await using world = await startWorld({ endpoints: [quick] });
    const socket = await openSocket(world.port);
    socket.end('GET http://coffer.example/v1/quick HTTP/1.1\r\nHost: coffer.example\r\n\r\n');
    expect(await readToEnd(socket)).to.match(/^HTTP\/1\.1 200 /);
  });
});

describe('a client that dawdles', () => {
  for (const [what, bytes] of [
    ['headers', 'POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\n'],
    [
      'body',
      `POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET_KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"item"',
    ],
  ] as const) {
    it(`over its ${what} gets 408 and is cut off`, async () => {
      await using world = await startWorld({ server: { headersTimeoutMs: 50, requestTimeoutMs: 100 } });
      const socket = await openSocket(world.port);
      socket.write(bytes);
      const answer = await readToEnd(socket);
      expect(answer).to.match(/^HTTP\/1\.1 408 /);
      expect(answer).to.include('request/timeout');
    });
  }

  it('over the body of a request that was refused without it is cut off, and told nothing more', async () => {
    await using world = await startWorld({ server: { headersTimeoutMs: 50, requestTimeoutMs: 100 } });
    const socket = await openSocket(world.port);
    socket.write('POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n');
    const answers = (await readToEnd(socket)).split(/(?=HTTP\/1\.1 )/);
    expect(answers).to.have.lengthOf(1);
    expect(answers[0]).to.match(/^HTTP\/1\.1 401 /);
    expect(world.logLines).to.have.lengthOf(1);
  });

  it('before it has sent anything is cut off without an answer, and nothing is logged', async () => {
    await using world = await startWorld({ server: { headersTimeoutMs: 50, requestTimeoutMs: 100 } });
    expect(await readToEnd(await openSocket(world.port))).to.equal('');
    expect(world.logLines).to.deep.equal([]);
  });

  it('and disconnects within a body leaves nothing behind', async () => {
    await using world = await startWorld({ maxConcurrentRequests: 1 });
    const socket = await openSocket(world.port);
    socket.write(
      `POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET_KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
    );
    await readUntil(socket, '100 Continue');
    socket.destroy();
    const inFlight = async () =>
      (await (await world.metrics.getSingleMetric('coffer_http_requests_in_flight'))?.get())?.values[0]
        ?.value;
    await until(async () => (await inFlight()) === 0);
    const answer = await ask(`${world.base}/shop/purchases`, {
      method: 'POST',
      headers: { ...bearer(SECRET_KEY), ...asJson },
      body: '{"item":"a","price":"1"}',
    });
    expect(answer.status).to.equal(201);
    expect(world.logLines).to.deep.equal([]);
  });
});

describe('stopping', () => {
  it('lets requests in flight finish, accepts no new ones and closes idle connections', async () => {
    const { begun, release, endpoints } = held();
    const world = await startWorld({ endpoints });
    const idle = await openSocket(world.port);
    idle.write('GET /v1/quick HTTP/1.1\r\nHost: a\r\n\r\n');
    await readUntil(idle, '{"quick":true}');
    const idleClosed = once(idle, 'close');

    const inFlight = ask(`${world.base}/slow`);
    await begun;
    const stopped = world.stop(5_000);
    await idleClosed;
    const refused = await ask(`${world.base}/quick`).catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
    release();
    expect((await inFlight).body).to.deep.equal({ slow: true });
    await stopped;
  });

  it('is bounded: what has not finished by then is cut off', async () => {
    const { begun, release, endpoints } = held();
    const world = await startWorld({ endpoints });
    const inFlight = ask(`${world.base}/slow`).catch((error: Error) => error);
    await begun;
    await world.stop(20);
    expect(await inFlight).to.be.instanceOf(Error);
    release();
  });

  it('twice is the same as once', async () => {
    const world = await startWorld();
    await Promise.all([world.stop(0), world.stop(0)]);
    await world.stop(0);
  });
});

describe('starting', () => {
  it('on every address of the machine names one that can be called', async () => {
    const server = await startServer(() => undefined, { host: '0.0.0.0', port: 0 });
    expect(server.url).to.equal(`http://127.0.0.1:${server.port}`);
    await server.stop(0);
  });

  it('fails on a port that is taken', async () => {
    await using world = await startWorld();
    const failure = await startServer(() => undefined, { host: '127.0.0.1', port: world.port }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(failure).to.equal('EADDRINUSE');
  });
});
