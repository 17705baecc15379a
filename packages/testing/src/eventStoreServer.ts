/**
 * What EVENTSTORE_TEST_SERVER can name if there is no real server: `node eventStoreServer.ts PORT FOLDER` serves a log
 * in memory until SIGTERM. Its positions have gaps, like a real server's, so that no spec counts by them.
 */
import type { EventStore, Position, RecordedEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createStoreGateway } from '@coffer/store-gateway';

const GAP = 97n;

const outside = (position: Position) => `${BigInt(position) * GAP}` as Position;
const inside = (position: Position) => `${BigInt(position) / GAP}` as Position;
const moved = <Placed extends { readonly position: Position }>(placed: Placed): Placed => ({
  ...placed,
  position: outside(placed.position),
});

async function* movedPages(pages: AsyncIterable<readonly RecordedEvent[]>) {
  for await (const page of pages) yield page.map(moved);
}

const store = createMemoryEventStore();
const sparse: EventStore = {
  ...store,
  append: async (request) => moved(await store.append(request)),
  readStream: (stream, options) => movedPages(store.readStream(stream, options)),
  readAll: ({ from, ...options } = {}) =>
    movedPages(store.readAll({ ...options, ...(from !== undefined && { from: inside(from) }) })),
  async head() {
    const head = await store.head();
    return head && moved(head);
  },
  async *subscribeToAll({ after, ...options }) {
    const place = after && { ...after, position: inside(after.position) };
    for await (const message of store.subscribeToAll({ ...options, after: place })) {
      yield message.kind === 'events' ? { ...message, events: message.events.map(moved) } : message;
    }
  },
};
const gateway = await createStoreGateway({
  store: sparse,
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  credentials: { user: 'coffer', password: 'only for specs' },
  allowWrites: true,
});

// The pipe closes when the specs are gone, however they ended.
process.stdin.resume().once('close', () => process.exit());
process.once('SIGTERM', async () => {
  await gateway.stop();
  await store.close();
  process.exit();
});
