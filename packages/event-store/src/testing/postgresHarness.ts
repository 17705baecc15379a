/** Harnesses for the contracts on a PostgreSQL database, which `close` drops. */
import type { TestDatabase } from '@coffer/testing';
import type { EventStore, Position } from '../port.ts';
import { createPostgresEventStore } from '../postgres/postgresEventStore.ts';
import type { SharedLogHarness } from './sharedLogHarness.ts';

export function postgresHarness({ connectionString, pool, drop }: TestDatabase) {
  const stores: EventStore[] = [];
  const open = (options: { readonly maxQueuedAppends?: number } = {}) => {
    const store = createPostgresEventStore({ connectionString, applicationName: 'spec', ...options });
    stores.push(store);
    return store;
  };
  return {
    store: open(),
    another: open,
    positionBeyondEnd: '1000000' as Position,
    async rewindTo(length: number) {
      await pool.query('delete from log.events where position > $1', [length]);
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await drop();
    },
  };
}

export function sharedLogHarness({ connectionString, pool, drop }: TestDatabase): SharedLogHarness {
  const store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
  return {
    store,
    async writeAsAnother(stream, { id, type, data, metadata }) {
      await pool.query(
        `insert into log.events (position, stream, revision, id, type, data, metadata, created)
         select coalesce(max(position), 0) + 1, $1, count(*) filter (where stream = $1), $2, $3, $4, $5, clock_timestamp()
           from log.events`,
        [stream, id, type, data, metadata],
      );
    },
    async close() {
      await store.close();
      await drop();
    },
  };
}
