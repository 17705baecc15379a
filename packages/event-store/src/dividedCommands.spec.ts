import { eventCodec, figure, Rejection, type StreamType, uuidFromParts } from '@coffer/kernel';
import { eventually, until } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { createCommandHandler } from './commandHandler.ts';
import type { CommandContext } from './commands.ts';
import {
  type DividedCommands,
  divideCommands,
  portsBetween,
  shareOf,
  type ThreadPlace,
} from './dividedCommands.ts';
import { OutcomeUnknownError, StoreOverloadedError, StoreUnreachableError } from './errors.ts';
import { createMemoryEventStore } from './memory/memoryEventStore.ts';
import type { AppendRequest, EventStore } from './port.ts';
import { anyTypeOf } from './works.ts';

// A purse: spending has a refusal, a lost race that is an answer, and a mistake of ours.

interface Spend {
  readonly amount: bigint;
  readonly kind?: 'loses' | 'mistake' | 'functional';
}
type Answer = { readonly left: bigint; readonly refusal?: Rejection; readonly again?: () => void };
type Spent = { readonly type: 'Spent'; readonly data: { readonly amount: bigint } };

const purse: StreamType<Spend, Spent, bigint, Answer> = {
  category: 'purse',
  version: 1,
  codec: eventCodec({ Spent: { data: z.object({ amount: figure }) } }),
  initialState: 1_000n,
  decide(left, { amount, kind }) {
    if (kind === 'mistake') throw new TypeError('a mistake of our own');
    if (kind === 'loses')
      return { events: [], answer: { left, refusal: new Rejection('purse/closed', { left }) } };
    if (kind === 'functional') return { events: [], answer: { left, again: () => undefined } };
    if (amount > left) throw new Rejection('purse/empty', { left });
    return { events: [{ type: 'Spent', data: { amount } }], answer: { left: left - amount } };
  },
  evolve: (left, { data }) => left - data.amount,
  sizeOf: () => 100,
  crossesThreads: true,
};

const context = (more: Partial<CommandContext> = {}): CommandContext => ({
  metadata: { correlationId: 'c', actor: 'test', occurredAt: '2026-01-01T00:00:00.000Z' },
  deadlineMs: performance.now() + 10_000,
  ...more,
});
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it was accepted'),
    (error: unknown) => error,
  );

const types = [anyTypeOf(purse)];

describe('commands that several threads divide', () => {
  const THREADS = 3;
  /** One of each thread. */
  const streams = Array.from({ length: THREADS }, (_, index) => {
    let number = 0;
    while (shareOf(`purse-test.app_1.${number}`, THREADS) !== index) number += 1;
    return `purse-test.app_1.${number}`;
  });
  let appends: AppendRequest[];
  let threads: readonly DividedCommands[];
  let ports: readonly ThreadPlace['ports'][];
  let beforeAppend: () => Promise<void>;

  const thread = (index: number): DividedCommands => threads[index] ?? expect.fail('no such thread');
  const stream = (index: number): string => streams[index] ?? expect.fail('no such stream');
  const spend = (by: number, of: number, command: Spend, more: Partial<CommandContext> = {}) =>
    thread(by).execute(purse, stream(of), command, context(more));

  beforeEach(async () => {
    appends = [];
    beforeAppend = async () => undefined;
    const whole = createMemoryEventStore();
    const store: EventStore = {
      ...whole,
      async append(request) {
        await beforeAppend();
        appends.push(request);
        return whole.append(request);
      },
    };
    ports = portsBetween(THREADS);
    threads = ports.map((ofOne, index) =>
      divideCommands(createCommandHandler({ store }), types, { index, ports: ofOne }),
    );
    // Each has heard of the others once all streams are decided by their threads.
    await eventually('all threads have joined', async () => {
      await Promise.all(streams.flatMap((_, of) => threads.map((_one, by) => spend(by, of, { amount: 0n }))));
      const before = appends.length;
      await Promise.all(streams.map((_, of) => spend((of + 1) % THREADS, of, { amount: 0n })));
      return appends.length === before + THREADS || undefined;
    });
    appends.length = 0;
  });
  afterEach(() => {
    for (const port of ports.flat()) port?.close();
  });

  it('are decided by one thread, whichever was asked', async () => {
    const asked = Array.from({ length: 90 }, (_, number) => spend(number % THREADS, 0, { amount: 1n }));
    const answers = await Promise.all(asked);
    const left = answers.map(({ answer }) => answer.left).sort((one, other) => Number(other - one));
    expect(left).to.deep.equal(Array.from({ length: 90 }, (_, number) => 999n - BigInt(number)));
    // Nobody took a revision from another one.
    const revisions = appends.map(({ expectedRevision }) => expectedRevision);
    expect(new Set(revisions)).to.have.property('size', revisions.length);
  });

  it('answer with what was appended, under the ids that follow from the cause', async () => {
    const eventIds = { parts: ['cause'], first: 1 };
    const { answer, appended, replayed } = await spend(0, 1, { amount: 5n }, { eventIds });
    expect({ answer, replayed }).to.deep.equal({ answer: { left: 995n }, replayed: false });
    expect(appended.map(({ id }) => id)).to.deep.equal([uuidFromParts('cause', '1')]);
  });

  it('are refused with code and details, alone and among others', async () => {
    const alone = await failureOf(spend(0, 1, { amount: 2_000n }));
    expect(alone).to.be.instanceOf(Rejection);
    expect(alone).to.deep.include({ code: 'purse/empty', details: { left: 1_000n } });
    for (const amounts of [[2_000n], [2_000n, 1n]]) {
      const spends = amounts.map((amount) => ({ amount }));
      const [refused, decided] = await thread(0).executeAll(purse, stream(1), spends, context());
      expect(refused?.status === 'refused' && refused.reason).to.be.instanceOf(Rejection);
      if (decided) expect(decided).to.deep.include({ status: 'decided', answer: { left: 999n } });
    }
  });

  it('answer with a refusal as the thread that decided did', async () => {
    const { answer } = await spend(2, 0, { amount: 0n, kind: 'loses' });
    expect(answer.left).to.equal(1_000n);
    expect(answer.refusal).to.be.instanceOf(Rejection);
    expect(answer.refusal).to.deep.include({ code: 'purse/closed', details: { left: 1_000n } });
  });

  for (const failure of [new StoreOverloadedError('full'), new StoreUnreachableError('away')]) {
    it(`fail as the store did: ${failure.name}`, async () => {
      beforeAppend = () => Promise.reject(failure);
      const deadlineMs = performance.now() + 50;
      const met = await failureOf(spend(0, 1, { amount: 1n }, { deadlineMs }));
      expect(met).to.be.instanceOf(failure.constructor);
      expect(met).to.have.property('message', failure.message);
    });
  }

  it('fail by our mistakes one by one: others in the same letter are decided', async () => {
    const [mistake, functional, decided] = await Promise.all([
      failureOf(spend(0, 1, { amount: 1n, kind: 'mistake' })),
      failureOf(spend(0, 1, { amount: 1n, kind: 'functional' })),
      spend(0, 1, { amount: 1n }),
    ]);
    expect(mistake).to.be.instanceOf(Error).with.property('message', 'a mistake of our own');
    expect(functional).to.be.instanceOf(Error);
    expect(decided.answer.left).to.equal(999n);
  });

  it('are all answered while a thread leaves, and then decided where they are asked', async () => {
    const asked: Promise<unknown>[] = [];
    let isLeaving = true;
    const left = (async () => {
      await thread(1).leave();
      isLeaving = false;
    })();
    while (isLeaving) {
      for (const by of [0, 1, 2]) asked.push(spend(by, 1, { amount: 1n }));
      await new Promise(setImmediate);
    }
    await left;
    await Promise.all(asked);
    const { answer } = await spend(0, 1, { amount: 0n });
    expect(answer.left).to.equal(1_000n - BigInt(asked.length));
  });

  it('are answered by a thread that leaves, however long the store takes', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    beforeAppend = () => held;
    const asked = spend(0, 1, { amount: 1n });
    await until(() => thread(1).stats().pending === 1);
    const left = thread(1).leave();
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    release();
    expect((await asked).answer.left).to.equal(999n);
    await left;
  });

  it('have an unknown outcome when the thread that decides ends', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    beforeAppend = () => held;
    const asked = spend(0, 1, { amount: 1n });
    await new Promise(setImmediate);
    const failure = failureOf(asked);
    for (const port of ports[1] ?? []) port?.close();
    expect(await failure).to.be.instanceOf(OutcomeUnknownError);
    release();
    beforeAppend = async () => undefined;
    // And from then on the command is decided here.
    expect((await spend(0, 1, { amount: 0n })).answer.left).to.be.oneOf([999n, 1_000n]);
  });

  it('stay where they are asked until the other thread has joined', async () => {
    const [ofFirst = [], ofSecond = []] = portsBetween(2);
    const store = createMemoryEventStore();
    const alone = divideCommands(createCommandHandler({ store }), types, { index: 0, ports: ofFirst });
    const others = `purse-test.app_1.${[0, 1, 2, 3, 4, 5, 6, 7].find((one) => shareOf(`purse-test.app_1.${one}`, 2) === 1)}`;
    expect((await alone.execute(purse, others, { amount: 1n }, context())).answer.left).to.equal(999n);
    // And whoever leaves does not wait for one that never came.
    await alone.leave();
    for (const port of ofSecond) port?.close();
  });
});
