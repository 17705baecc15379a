import { once } from 'node:events';
import { expect } from 'chai';
import type { Reply } from './endpoint.ts';
import { rejectShop, simpleEndpoint } from './testing/shop.ts';
import { openSocket, readUntil } from './testing/sockets.ts';
import { ask, startWorld } from './testing/world.ts';

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
  it('is raised when the client goes away, and not when it is answered', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const released = Promise.withResolvers<void>();
    const waiting = simpleEndpoint({
      path: '/waiting',
      handle: async ({ context }) => {
        begun.resolve(context.signal);
        await Promise.race([released.promise, once(context.signal, 'abort')]);
        return { status: 200, body: {} };
      },
    });
    await using world = await startWorld({ endpoints: [waiting] });
    const socket = await openSocket(world.port);
    socket.write('GET /v1/waiting HTTP/1.1\r\nHost: a\r\n\r\n');
    const signal = await begun.promise;
    socket.destroy();
    await once(signal, 'abort');
    expect(signal.aborted).to.equal(true);
  });

  it('stays quiet after an answer', async () => {
    let signal: AbortSignal | undefined;
    const quick = simpleEndpoint({
      path: '/quick',
      handle: ({ context }) => {
        signal = context.signal;
        return { status: 200, body: {} };
      },
    });
    const world = await startWorld({ endpoints: [quick] });
    await ask(`${world.base}/quick`);
    await world.stop(0);
    expect(signal?.aborted).to.equal(false);
  });
});
