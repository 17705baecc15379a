import type { Queryable } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import { expect } from 'chai';
import { projectRows, type StreamRow } from './rowProjection.ts';
import type { RowTable } from './rowTable.ts';

describe('a projection of rows', () => {
  it('reads a row again that 40,000 events of other streams have passed by', async () => {
    let reads = 0;
    const table: Pick<RowTable<StreamRow>, 'keyOf' | 'read' | 'write' | 'update' | 'lastOrdinal'> = {
      keyOf: () => 'a',
      async read() {
        reads += 1;
        return new Map();
      },
      write: async () => undefined,
      update: async () => undefined,
      lastOrdinal: async () => 0n,
    };
    const { apply } = projectRows('read_v1', table as RowTable<StreamRow>, {
      keyOf: ({ stream }) => (stream === 'a' ? 'a' : undefined),
      evolve: (_row, { revision }) => ({ revision }),
    });
    // Of an event it looks at no more.
    const event = (stream: string, revision: number) => ({ stream, revision }) as RecordedEvent;
    const others = Array.from({ length: 20_000 }, (_, revision) => event('b', revision));
    const db = {} as Queryable;
    await apply(db, [event('a', 0)], 0);
    await apply(db, [event('a', 1)], 1);
    expect(reads).to.equal(1);
    for (const before of [2, 20_002]) await apply(db, others, before);
    await apply(db, [event('a', 0)], 40_002);
    expect(reads).to.equal(2);
  });
});
