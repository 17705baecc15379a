import { once } from 'node:events';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import type { Reply } from './endpoint.ts';
import { rejectShop, simpleEndpoint } from './testing/shop.ts';
import { openSocket, readUntil } from './testing/sockets.ts';
import { asJson, ask, startWorld } from './testing/world.ts';

const streaming = (lines: (signal: AbortSignal) => AsyncIterable<unknown>) =>
  simpleEndpoint({
    path: '/lines',
    success: { status: 200, lines: true },
    errors: ['shop/closed'],
    handle: ({ context }): Reply => ({ status: 200, lines: lines(context.signal) }),
  });

describe('JSON lines', () => {
  it('are streamed, one document per line', async () => {
    const endpoints = [
      streaming(async function* () {
        yield { a: 1 };
        yield { text: 'two\nlines' };
      }),
    ];
    await using world = await startWorld({ endpoints });
    const response = await fetch(`${world.base}/lines`);
    expect(response.headers.get('content-type')).to.equal('application/x-ndjson; charset=utf-8');
    expect(await response.text()).to.equal('{"a":1}\n{"text":"two\\nlines"}\n');
  });

  it('are an ordinary refusal when they fail before the first', async () => {
    const endpoints = [
      streaming(async function* () {
        yield* [];
        throw rejectShop('shop/closed');
      }),
    ];
    await using world = await startWorld({ endpoints });
    expect((await ask(`${world.base}/lines`)).code).to.equal('shop/closed');
  });

  it('that fail in the middle break the connection, so that no part passes for the whole', async () => {
    const endpoints = [
      streaming(async function* () {
        yield { a: 1 };
        throw new Error('the log ended');
      }),
    ];
    await using world = await startWorld({ endpoints });
    const outcome = await fetch(`${world.base}/lines`)
      .then((response) => response.text())
      .catch((error: Error) => error);
    expect(outcome).to.be.instanceOf(Error);
    expect(world.logLines[0]).to.include('the log ended');
  });

  it('come at the pace of the reader, and stop with it', async () => {
    let made = 0;
    const left = Promise.withResolvers<void>();
    const line = { filler: 'x'.repeat(64 * 1024) };
    const endpoints = [
      streaming(async function* (signal) {
        signal.addEventListener('abort', () => left.resolve());
        for (; made < 10_000; made++) yield line;
      }),
    ];
    await using world = await startWorld({ endpoints });
    const socket = await openSocket(world.port);
    socket.write('GET /v1/lines HTTP/1.1\r\nHost: a\r\n\r\n');
    await readUntil(socket, 'filler');
    socket.pause();
    // Once nothing more is made between two looks, buffers are full and the producer waits.
    for (let before = -1; before < made; ) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(made, '640 MB were on offer').to.be.lessThan(1_000);
    socket.destroy();
    await left.promise;
  });
});

describe('the signal of a request', () => {
  for (const requests of [1, 3]) {
    it(`is raised when the client goes away: each of ${requests} on a connection`, async () => {
      const begun = Promise.withResolvers<void>();
      const signals: AbortSignal[] = [];
      const waiting = simpleEndpoint({
        path: '/waiting',
        handle: async ({ context: { signal } }) => {
          if (signals.push(signal) === requests) begun.resolve();
          await once(signal, 'abort');
          return { status: 200, body: {} };
        },
      });
      const requestsInFlight = new Int32Array(1);
      await using world = await startWorld({ endpoints: [waiting], requestsInFlight });
      const socket = await openSocket(world.port);
      socket.write('GET /v1/waiting HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
      await begun.promise;
      socket.destroy();
      await until(() => requestsInFlight[0] === 0);
      expect(signals.every(({ aborted }) => aborted)).to.equal(true);
    });
  }

  it('stays quiet after an answer', async () => {
    let signal: AbortSignal | undefined;
    const quick = simpleEndpoint({
      path: '/quick',
      handle: ({ context }) => {
        signal = context.signal;
        return { status: 200, body: {} };
      },
    });
    for (const method of ['GET', 'POST'] as const) {
      const world = await startWorld({ endpoints: [{ ...quick, method }] });
      await ask(`${world.base}/quick`, {
        method,
        ...(method === 'POST' && { headers: asJson, body: '{}' }),
      });
      await world.stop(0);
      expect(signal?.aborted, method).to.equal(false);
    }
  });
});

describe('a request that would wait', () => {
  it('may while at most half of the places are taken', async () => {
    const answers: boolean[] = [];
    const released = Promise.withResolvers<void>();
    const waiting = simpleEndpoint({
      path: '/waiting',
      handle: async ({ context }) => {
        answers.push(context.mayWait());
        await released.promise;
        return { status: 200, body: {} };
      },
    });
    await using world = await startWorld({ endpoints: [waiting], maxConcurrentRequests: 4 });
    const all = Array.from({ length: 4 }, () => ask(`${world.base}/waiting`));
    await until(() => answers.length >= 4);
    expect(answers).to.deep.equal([true, true, false, false]);
    released.resolve();
    await Promise.all(all);
  });
});
