import { createCommandHandler, requestedBy } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { newId, Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import { createSkips } from './skips.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const EVENT = {
  id: '11111111-1111-4111-8111-111111111111',
  stream: `account-test.${newId('app')}.${newId('usr')}.2`,
  revision: 4,
  type: 'AccountCredited',
};

describe('skips of a consumer', () => {
  const setUp = () => {
    const store = createMemoryEventStore();
    const read: string[] = [];
    const stopped = { event: EVENT as typeof EVENT | undefined };
    const skips = createSkips({
      handler: createCommandHandler({ store }),
      store: {
        heads: store.heads,
        readStream(stream, options) {
          read.push(stream);
          return store.readStream(stream, options);
        },
      },
      clock: () => NOW,
      consumers: async () => [{ name: 'holds', stopped }],
      owners: async () => [
        ...Array.from({ length: 1_000 }, () => newId('app')),
        EVENT.stream.split('.')[1] ?? '',
      ],
      neverSkip: ['chain'],
    });
    const context = () =>
      requestedBy(
        { requestId: 'req-1', actor: 'operator', deadlineMs: performance.now() + 60_000 },
        NOW.toISOString(),
      );
    const skip = (eventId: string, reason = 'a bug of ours') =>
      skips.skip({ consumer: 'holds', eventId, reason }, context());
    return { skip, read, stopped };
  };

  it('are repeated once the consumer has gone on, and read only where there are some', async () => {
    const { skip, read, stopped } = setUp();
    const first = await skip(EVENT.id);
    stopped.event = undefined;
    read.length = 0;
    expect(await skip(EVENT.id)).to.deep.equal({ answer: first.answer, replayed: true });
    expect(read).to.have.length(1);
  });

  it('of another event are refused, however many apps there are, without a look at their streams', async () => {
    const { skip, read } = setUp();
    const refusal = await skip('22222222-2222-4222-8222-222222222222').catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(Rejection).with.property('code', 'portal/not_stopped_there');
    expect(read).to.deep.equal([]);
  });
});
