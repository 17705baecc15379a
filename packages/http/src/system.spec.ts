import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import type { ErrorRequestHandler } from 'express';
import { loadExpress } from './express.ts';
import { createLogger } from './logger.ts';
import { startServer } from './server.ts';
import { isLocalPeer, type Readiness, readyz } from './system.ts';
import { buy } from './testing/shop.ts';
import { openSocket } from './testing/sockets.ts';
import { ask, startWorld } from './testing/world.ts';

describe('beside the API', () => {
  it('/healthz says that the process is up', async () => {
    await using world = await startWorld({ readiness: async () => ({ ready: false, reasons: ['store'] }) });
    const answer = await ask(`${world.url}/healthz`);
    expect([answer.status, answer.body]).to.deep.equal([200, { status: 'ok', version: '1.2.3' }]);
  });

  it('/readyz tells what is missing', async () => {
    await using ready = await startWorld();
    expect((await ask(`${ready.url}/readyz`)).status).to.equal(200);
    await using missing = await startWorld({
      readiness: async () => ({ ready: false, reasons: ['The store cannot be reached.'] }),
    });
    const answer = await ask(`${missing.url}/readyz`);
    expect(answer.status).to.equal(503);
    expect(answer.code).to.equal('service/not_ready');
    expect(answer.body.details).to.deep.equal({ reasons: ['The store cannot be reached.'] });
  });

  it('/readyz names what has stopped for good, ready or not', async () => {
    const stopped = [{ consumer: 'holds', code: 'store/log_rewritten', position: null, event: null }];
    for (const isReady of [true, false]) {
      await using world = await startWorld({
        readiness: async () => ({ ready: isReady, reasons: ['It has stopped.'], stopped }),
      });
      const { status, body } = await ask(`${world.url}/readyz`);
      expect(status).to.equal(isReady ? 200 : 503);
      expect(isReady ? body : body.details).to.deep.include({ stopped });
    }
  });

  it('/readyz that cannot tell is an ordinary failure, and no secret', async () => {
    await using world = await startWorld({ readiness: () => Promise.reject(new Error('postgres://a:b@c')) });
    const answer = await ask(`${world.url}/readyz`);
    expect([answer.status, answer.code]).to.deep.equal([500, 'service/internal']);
    expect(answer.body.details).to.deep.equal({});
  });

  it('/readyz looks once for all who ask at a time, and again half a second after the last look', async () => {
    const looks: PromiseWithResolvers<void>[] = [];
    let nowMs = 0;
    await using world = await startWorld({
      nowMs: () => nowMs,
      readiness: async () => {
        const look = Promise.withResolvers<void>();
        looks.push(look);
        await look.promise;
        return { ready: true, reasons: [] };
      },
    });
    const socket = await openSocket(world.port);
    socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(99));
    const last = ask(`${world.url}/readyz`);
    await until(() => looks.length !== 0);
    // However long it takes.
    nowMs += 10_000;
    await ask(`${world.url}/healthz`);
    looks[0]?.resolve();
    expect((await last).status).to.equal(200);
    nowMs += 499;
    expect((await ask(`${world.url}/readyz`)).status).to.equal(200);
    expect(looks).to.have.lengthOf(1);
    nowMs += 1;
    const later = ask(`${world.url}/readyz`);
    await until(() => looks.length !== 1);
    looks[1]?.resolve();
    expect((await later).status).to.equal(200);
    socket.destroy();
  });

  it('/readyz says so if nothing answers, and the next look is another one', async () => {
    let looks = 0;
    const app = loadExpress()();
    const logger = createLogger({ level: 'silent' });
    const silent = () => {
      looks++;
      return new Promise<Readiness>(() => undefined);
    };
    let nowMs = 0;
    app.get('/readyz', readyz(silent, { logger, nowMs: () => nowMs, limitMs: 1 }));
    const refused: ErrorRequestHandler = (error, _request, response, _next) => response.json(error.details);
    app.use(refused);
    const server = await startServer(app, { host: '127.0.0.1', port: 0 });
    for (const look of [1, 2]) {
      const { body } = await ask(`${server.url}/readyz`);
      expect(body).to.deep.equal({ reasons: ['The log or the database does not answer.'] });
      expect(looks).to.equal(look);
      nowMs += 500;
    }
    await server.stop(0);
  });

  it('/readyz tells the log once that a start is under way, and later that it is no longer ready', async () => {
    let nowMs = 0;
    let ready = false;
    await using world = await startWorld({
      nowMs: () => nowMs,
      readiness: async () => ({ ready, reasons: ready ? [] : ['The start is not done.'] }),
    });
    const probe = async (times: number) => {
      for (let count = 0; count < times; count++) {
        nowMs += 1_000;
        await ask(`${world.url}/readyz`);
      }
      return world.logLines.map((line) => JSON.parse(line)).map(({ level, msg }) => `${level} ${msg}`);
    };
    expect(await probe(5)).to.deep.equal(['info Not ready.']);
    expect(JSON.parse(world.logLines[0] ?? '')).to.deep.include({ reasons: ['The start is not done.'] });
    ready = true;
    expect(await probe(2)).to.deep.equal(['info Not ready.']);
    ready = false;
    expect(await probe(5)).to.deep.equal(['info Not ready.', 'warn Not ready.']);
  });

  it('/metrics counts requests by template and status', async () => {
    await using world = await startWorld();
    await ask(`${world.base}/shop/purchases`, { method: 'POST' });
    await ask(`${world.base}/shop/purchases/123`);
    const text = await (await fetch(`${world.url}/metrics`)).text();
    expect(text).to.include(
      'coffer_http_request_duration_seconds_count{method="POST",route="/shop/purchases",status="401"} 1',
    );
    expect(text).to.include(
      'coffer_http_request_duration_seconds_count{method="any",route="unmatched",status="404"} 1',
    );
    expect(text).to.include('coffer_http_requests_in_flight 0');
    expect(text).to.not.include('123"');
  });

  it('/metrics does not exist for forwarded requests, unless it is open', async () => {
    const headers = { 'x-forwarded-for': '127.0.0.1' };
    await using world = await startWorld({ trustProxy: true });
    expect((await ask(`${world.url}/metrics`, { headers })).code).to.equal('request/not_found');
    await using open = await startWorld({ openMetrics: true });
    expect((await fetch(`${open.url}/metrics`, { headers })).status).to.equal(200);
  });

  it('only a loopback address is a peer on this machine', () => {
    const from = (remoteAddress: string, headers: Record<string, string> = {}) => {
      const socket = new Socket();
      Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
      const request = new IncomingMessage(socket);
      Object.assign(request.headers, headers);
      return isLocalPeer(request);
    };
    for (const address of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1']) {
      expect(from(address), address).to.equal(true);
    }
    for (const address of ['10.0.0.1', '128.0.0.1', '::ffff:10.0.0.1', '::2', '']) {
      expect(from(address), address).to.equal(false);
    }
    expect(from('127.0.0.1', { forwarded: 'for=10.0.0.1' })).to.equal(false);
    expect(from('127.0.0.1', { via: '1.1 proxy' })).to.equal(false);
  });

  it('every page takes GET only, in the envelope', async () => {
    await using world = await startWorld();
    for (const path of ['/healthz', '/readyz', '/metrics', '/docs']) {
      const answer = await ask(`${world.url}${path}`, { method: 'POST' });
      expect([answer.status, answer.code], path).to.deep.equal([405, 'request/method_not_allowed']);
      expect(answer.headers.get('allow')).to.equal('GET, HEAD');
    }
  });
});

describe('the published catalogue', () => {
  it('lists every code with status and message', async () => {
    await using world = await startWorld({ endpoints: [buy] });
    const { body } = await ask(`${world.base}/errors`);
    expect(body.errors).to.deep.include({ code: 'shop/closed', status: 404, message: 'The shop is closed.' });
    expect(body.errors).to.be.an('array').with.nested.property('[0].code', 'auth/invalid_key');
  });
});
