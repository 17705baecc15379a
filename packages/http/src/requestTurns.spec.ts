import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { arrivedMs, fewInATurn } from './requestTurns.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { openSocket, readToEnd } from './testing/sockets.ts';
import { startWorld } from './testing/world.ts';

describe('requests that arrive together', () => {
  let begun: { readonly number: number; readonly arrivedMs: number }[];
  let take: (request: { readonly number: number }, response: undefined) => void;
  const arrive = (number: number) => take({ number }, undefined);
  const arriveAll = (from: number, to: number): void => {
    for (let number = from; number < to; number++) arrive(number);
  };
  beforeEach(() => {
    begun = [];
    take = fewInATurn((request) => void begun.push({ ...request, arrivedMs: arrivedMs(request) }));
  });

  /** How many began in each of the next turns. */
  async function begunInTurns(turns: number): Promise<readonly number[]> {
    const counts: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const before = begun.length;
      await nextTurn();
      counts.push(begun.length - before);
    }
    return counts;
  }

  it('begin at once as long as they are few', () => {
    arriveAll(0, 64);
    expect(begun).to.have.lengthOf(64);
  });

  it('begin in the order of their arrival, 64 in a turn', async () => {
    arriveAll(0, 150);
    expect(begun).to.have.lengthOf(64);
    expect(await begunInTurns(3)).to.deep.equal([64, 22, 0]);
    expect(begun.map(({ number }) => number)).to.deep.equal(
      Array.from({ length: 150 }, (_, number) => number),
    );
  });

  it('begin behind those that already wait, whenever they arrive', async () => {
    arriveAll(0, 70);
    await nextTurn();
    arriveAll(70, 150);
    await begunInTurns(2);
    expect(begun.map(({ number }) => number)).to.deep.equal(
      Array.from({ length: 150 }, (_, number) => number),
    );
  });

  it('begin at once again in a later turn, and as many', async () => {
    arriveAll(0, 70);
    await begunInTurns(3);
    arriveAll(70, 150);
    expect(begun).to.have.lengthOf(134);
    expect(await begunInTurns(2)).to.deep.equal([16, 0]);
  });

  it('have arrived when they came, not when they began', async () => {
    arriveAll(0, 65);
    const allCameMs = performance.now();
    await begunInTurns(1);
    expect(begun.at(-1)).to.include({ number: 64 }).and.have.property('arrivedMs').at.most(allCameMs);
  });

  it('do not pile up where more arrive than a turn takes: a quarter of them begins', async () => {
    arriveAll(0, 64 + 1_000);
    expect(await begunInTurns(2)).to.deep.equal([250, 188]);
  });

  it('at the server do so as well, answered in their order, their time counted from their arrival', async () => {
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
        // The first that had to wait makes those behind it wait for as long again.
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
    const inATurn = [...Map.groupBy(turns, (number) => number).values()].map(({ length }) => length);
    expect(Math.max(...inATurn)).to.be.at.most(64);
    const durations = await world.metrics.getSingleMetric('coffer_http_request_duration_seconds')?.get();
    const sum = durations?.values.find(
      (value) => 'metricName' in value && String(value.metricName).endsWith('_sum'),
    );
    expect(sum?.value).to.be.above((199 - 64) * 0.05);
  });
});
