/** When the next batch of appends is worth sending while one is on its way: `appendBatches.int.spec.ts` shows the rest. */
import { expect } from 'chai';
import { newEvents, streamName } from '../testing/events.ts';
import { createAppendQueue } from './appendQueue.ts';

describe('a queue of appends, while a batch is on its way', () => {
  const queue = createAppendQueue({ maxQueuedEntries: 100, maxQueuedBytes: 1_000_000 });
  const push = (events: number) =>
    queue.push(
      {
        request: { stream: streamName(), expectedRevision: 'noStream', events: newEvents(events) },
        bytes: 1,
        resolve: () => undefined,
        reject: () => undefined,
      },
      0,
    );

  it('lets a full batch follow, of however few appends', () => {
    push(1_000);
    queue.takeBatch();
    push(127);
    expect(queue.mayFollow()).to.equal(false);
    push(1);
    expect(queue.mayFollow()).to.equal(true);
    queue.takeBatch();
    expect(queue.mayFollow()).to.equal(false);
  });

  it('begins anew when all were refused', () => {
    push(128);
    queue.refuseAll(new Error('The store is away.'));
    push(1);
    expect(queue.mayFollow()).to.equal(false);
  });
});
