import { randomUUID } from 'node:crypto';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { expect } from 'chai';
import { type SendingWorld, startSendingWorld } from './testing/sendingWorld.ts';
import { createToldEvents } from './told.ts';

describe('what has been told', () => {
  let world: SendingWorld;
  beforeEach(async () => {
    world = await startSendingWorld();
  });
  afterEach(() => world.stop());

  it('has last numbers, and numbers up to which nothing is kept', async () => {
    const told = createToldEvents(world.pool, createMemoryEventStore());
    await world.emit(3);
    await world.pool.query('update records.webhook_sequences set last = 3');
    await world.pool.query('delete from records.webhook_events where sequence <= 2');
    await world.pool.query('update records.webhook_sequences set pruned_sequence = 2');
    expect(await told.lasts()).to.deep.equal([{ appId: 'app_1', sequence: 3, prunedSequence: 2 }]);
  });

  it('names its source in the log', async () => {
    const store = createMemoryEventStore();
    const told = createToldEvents(world.pool, store);
    await world.emit(3);
    const source = randomUUID();
    const event = { id: source, type: 'UserCreated', data: '{}', metadata: '{}' };
    await store.append({ stream: 'user-2', expectedRevision: 'any', events: [event] });
    const { id, stream, revision } = await told.sourceOf({ appId: 'app_1', sequence: 2 });
    expect({ id, stream, revision }).to.deep.equal({ id: source, stream: 'user-2', revision: 0 });
  });
});
