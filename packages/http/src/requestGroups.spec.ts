import { EventEmitter } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { arrivedMs, createRequestGroups } from './requestGroups.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { openSocket, readToEnd } from './testing/sockets.ts';
import { startWorld } from './testing/world.ts';

describe('requests that arrive together', () => {
  let nowMs: number;
  let busyShare: number;
  let begun: { readonly number: number; readonly arrivedMs: number }[];
  let groups: ReturnType<typeof createRequestGroups>;
  let arrived: number;
  let responses: EventEmitter[];
  const arrive = (count: number): void => {
    for (let index = 0; index < count; index++) {
      const request = { number: arrived++ };
      const response = new EventEmitter();
      responses.push(response);
      groups.take(request, response, () => void begun.push({ ...request, arrivedMs: arrivedMs(request) }));
    }
  };
  const end = (count: number): void => {
    for (const response of responses.splice(0, count)) response.emit('close');
  };
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    mock.timers.tick(ms);
    await nextTurn();
  };
  /** Seven begin nothing, the eighth all of them. */
  const seeEightWait = async (): Promise<void> => {
    const before = begun.length;
    arrive(7);
    await nextTurn();
    expect(begun).to.have.lengthOf(before);
    arrive(1);
    await nextTurn();
    expect(begun).to.have.lengthOf(before + 8);
  };
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    nowMs = 10_000;
    arrived = 0;
    responses = [];
    begun = [];
    busyShare = 0.5;
    groups = createRequestGroups(
      () => nowMs,
      () => busyShare,
    );
  });
  afterEach(() => mock.timers.reset());

  it('begin at once as long as they are few', async () => {
    arrive(8);
    expect(begun).to.have.lengthOf(8);
    for (let moment = 0; moment < 20; moment++) {
      await pass(2);
      end(8);
      arrive(8);
      expect(begun).to.have.lengthOf(arrived);
    }
  });

  it('begin together where eight are under way, whenever these arrived', async () => {
    arrive(8);
    await pass(20);
    await seeEightWait();
    await pass(20);
    end(16 - 7);
    arrive(1);
    expect(begun).to.have.lengthOf(17);
  });

  it('begin together where they are more: after a moment', async () => {
    arrive(8 + 1);
    await pass(1);
    arrive(6);
    await nextTurn();
    expect(begun).to.have.lengthOf(8);
    await pass(1);
    expect(begun).to.have.lengthOf(15);
  });

  it('begin together where they are more: as soon as they are 32, in the next turn of the event loop', async () => {
    arrive(8 + 32 + 31);
    await nextTurn();
    expect(begun).to.have.lengthOf(40);
    await nextTurn();
    arrive(1);
    expect(begun).to.have.lengthOf(40);
    await nextTurn();
    expect(begun).to.have.lengthOf(72);
  });

  it('begin together where they are more: as soon as they are half of those that there were at once, in the next turn', async () => {
    arrive(8 + 32);
    await nextTurn();
    end(40);
    arrive(19);
    await nextTurn();
    expect(begun).to.have.lengthOf(40);
    arrive(1);
    expect(begun).to.have.lengthOf(40);
    await nextTurn();
    expect(begun).to.have.lengthOf(60);
  });

  it('begin together where they are more: as soon as eight wait, where there were few', async () => {
    for (let number = 0; number < 8; number++) {
      arrive(1);
      end(1);
    }
    await seeEightWait();
  });

  it('begin together where they are more: as many as there were in the tenth of a second before count, and not those of long ago', async () => {
    arrive(8 + 32);
    await nextTurn();
    end(40);
    await pass(100);
    arrive(8 + 11);
    await nextTurn();
    expect(begun, 'half of 40').to.have.lengthOf(48);
    await pass(2);
    expect(begun).to.have.lengthOf(59);
    end(19);
    await pass(100);
    arrive(8 + 9);
    await nextTurn();
    expect(begun, 'half of 19').to.have.lengthOf(67);
    arrive(1);
    await nextTurn();
    expect(begun).to.have.lengthOf(77);
  });

  it('begin together where they are more: what began long ago does not count', async () => {
    arrive(8 + 32);
    await nextTurn();
    const long = responses.splice(0);
    await pass(100);
    arrive(1);
    expect(begun, 'forty began in the tenth of a second before').to.have.lengthOf(40);
    await pass(100);
    expect(begun).to.have.lengthOf(41);
    end(1);
    arrive(1);
    expect(begun, 'at once').to.have.lengthOf(42);
    end(1);
    await pass(100);
    arrive(8 + 7);
    await nextTurn();
    expect(begun).to.have.lengthOf(50);
    arrive(1);
    await nextTurn();
    expect(begun, 'half of sixteen').to.have.lengthOf(58);
    for (const response of long) response.emit('close');
    await pass(20);
    arrive(1);
    expect(begun, 'sixteen are still under way').to.have.lengthOf(58);
  });

  for (const [share, waitMs] of [
    [0, 2],
    [0.5, 2],
    [0.65, 5],
    [0.8, 8],
    [1, 8],
  ] as const) {
    it(`wait for up to ${waitMs} ms for others where ${share} of the thread's time is taken`, async () => {
      busyShare = share;
      arrive(8 + 1);
      await pass(waitMs - 1);
      expect(begun).to.have.lengthOf(8);
      await pass(1);
      expect(begun).to.have.lengthOf(9);
    });
  }

  it('wait by how full the thread was in the last tenth of a second', async () => {
    arrive(8 + 1);
    await pass(2);
    busyShare = 1;
    await pass(97);
    end(9);
    arrive(8 + 1);
    await pass(2);
    expect(begun).to.have.lengthOf(18);
    end(9);
    arrive(8 + 1);
    await pass(7);
    expect(begun).to.have.lengthOf(26);
    await pass(1);
    expect(begun).to.have.lengthOf(27);
  });

  it('begin at once again when they are few, unless others still wait', async () => {
    arrive(8 + 32);
    await nextTurn();
    end(40);
    await pass(2);
    arrive(1);
    expect(begun).to.have.lengthOf(41);
    arrive(8);
    nowMs += 100;
    arrive(1);
    expect(begun, 'behind one that the busy event loop has not begun yet').to.have.lengthOf(48);
    await pass(2);
    expect(begun).to.have.lengthOf(50);
  });

  it('wait for a moment of their own behind a group that did not need its own', async () => {
    arrive(8 + 8);
    await pass(1);
    expect(begun).to.have.lengthOf(16);
    arrive(1);
    await pass(1);
    expect(begun).to.have.lengthOf(16);
    await pass(1);
    expect(begun).to.have.lengthOf(17);
  });

  it('wait for a moment again when a group has left some behind', async () => {
    arrive(8 + 32 + 5);
    await nextTurn();
    expect(begun).to.have.lengthOf(40);
    await nextTurn();
    expect(begun).to.have.lengthOf(40);
    await pass(2);
    expect(begun).to.have.lengthOf(45);
  });

  it('never begin right behind another group, whose work took longer than they would have waited', async () => {
    arrive(8 + 32 + 5);
    await nextTurn();
    nowMs += 2;
    mock.timers.tick(2);
    expect(begun).to.have.lengthOf(40);
    await nextTurn();
    expect(begun).to.have.lengthOf(45);
  });

  it('begin in the order of their arrival', async () => {
    arrive(70);
    await nextTurn();
    arrive(50);
    await nextTurn();
    arrive(50);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    await pass(2);
    expect(begun.map(({ number }) => number)).to.deep.equal(
      Array.from({ length: 170 }, (_, number) => number),
    );
  });

  it('have arrived when they came, not when they began', async () => {
    arrive(9);
    await pass(2);
    expect(begun.at(-1)).to.deep.equal({ number: 8, arrivedMs: 10_000 });
  });

  it('do not pile up where more arrive than a turn takes: a quarter of them begins', async () => {
    arrive(8 + 1_000);
    await nextTurn();
    expect(begun).to.have.lengthOf(8 + 250);
    await nextTurn();
    expect(begun).to.have.lengthOf(8 + 250 + 188);
  });
});

describe('requests that arrive together at the server', () => {
  it('begin in groups, are answered in their order, and their time counts from their arrival', async () => {
    let turn = 0;
    const ticking = new AbortController();
    const tick = (): void => {
      turn += 1;
      if (!ticking.signal.aborted) setImmediate(tick);
    };
    const turns: number[] = [];
    const echo = simpleEndpoint({
      path: '/echo/:number',
      handle: async ({ params }) => {
        turns.push(turn);
        // All those that wait behind this one wait for as long again.
        const endMs = performance.now() + (params.number === '64' ? 50 : 0);
        while (performance.now() < endMs);
        return { status: 200, body: { number: params.number } };
      },
    });
    await using world = await startWorld({ endpoints: [echo] });
    const socket = await openSocket(world.port);
    const heads = Array.from(
      { length: 200 },
      (_, number) => `GET /v1/echo/${number} HTTP/1.1\r\nHost: a\r\n`,
    );
    tick();
    socket.write(`${heads.join('\r\n')}Connection: close\r\n\r\n`);
    const answers = await readToEnd(socket);
    ticking.abort();

    const numbers = [...answers.matchAll(/\{"number":"(\d+)"\}/g)].map(([, number]) => Number(number));
    expect(numbers).to.deep.equal(heads.map((_, number) => number));
    // Those that begin at once: more than eight where the machine pauses between them. Then a quarter of the others at the most.
    const [, ...later] = [...Map.groupBy(turns, (number) => number).values()].map(({ length }) => length);
    expect(Math.max(...later)).to.be.within(1, 48);
    const durations = await world.metrics.getSingleMetric('coffer_http_request_duration_seconds')?.get();
    const sum = durations?.values.find(
      (value) => 'metricName' in value && String(value.metricName).endsWith('_sum'),
    );
    expect(sum?.value).to.be.above((199 - 64) * 0.05);
  });
});
