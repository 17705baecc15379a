/** Tables to which events only add: each row is what one event says, numbered as that event is in the log. */
import type { Projection } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import type { RowTable, StoredRow } from './rowTable.ts';

/** The row of an event; undefined for one without a row here. Pure; throws on what it cannot understand. */
export type EntryOf<Row> = (event: RecordedEvent) => Row | undefined;

/** A row with a key that is there already replaces it; a page applied again writes the same rows. */
export function projectEntries<Row>(schema: string, table: RowTable<Row>, entryOf: EntryOf<Row>): Projection {
  return {
    forget() {},
    async apply(db, events, ordinalBefore) {
      const byKey = new Map<string, StoredRow<Row>>();
      for (const [index, event] of events.entries()) {
        const row = entryOf(event);
        if (row) byKey.set(table.keyOf(row), { row, ordinal: BigInt(ordinalBefore + index + 1) });
      }
      await table.write(db, schema, [...byKey.values()]);
    },
    async pass() {},
  };
}
