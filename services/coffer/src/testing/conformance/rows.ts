/** Pieces of the rows that the read models should have. */
import assert from 'node:assert/strict';
import type { Contents, Explained, Place } from '@coffer/ledger/testing';

/** By column, as text. */
export type Row = Readonly<Record<string, string | null>>;

type Cell = string | number | bigint | null | undefined;

export const rowOf = (cells: Readonly<Record<string, Cell>>): Row =>
  Object.fromEntries(
    Object.entries(cells).map(([column, value]) => [column, value == null ? null : String(value)]),
  );

export const placesOf = ({ models }: Explained): readonly (Contents & { readonly place: Place })[] =>
  [...models].map(([place, model]) => ({ place, ...model.contents() }));

export const placeCells = ({ appId, environment }: Place) => ({ app_id: appId, environment });

/** The number of each stream among those of its kind, from 1, and the revision of its last event. */
export function streamsOf(
  { applied }: Explained,
  kind: 'account' | 'commission' | 'earnings' | 'playSession' | 'pool',
) {
  const streams = new Map<string, { readonly ordinal: number; revision: number }>();
  for (const { event } of applied) {
    if (!event.stream.startsWith(`${kind}-`)) continue;
    const known = streams.get(event.stream) ?? { ordinal: streams.size + 1, revision: -1 };
    streams.set(event.stream, known);
    known.revision += 1;
  }
  return (stream: string) => streams.get(stream) ?? assert.fail(`${stream} has no event`);
}
