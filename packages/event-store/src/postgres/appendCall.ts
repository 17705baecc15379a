/** How a batch of appends is passed to the database, and how its answer is read. */
import { int4Array, int8Array, textArray, uuidArray } from '@coffer/database';
import type { AppendResult, ExpectedRevision, Position } from '../port.ts';
import type { AppendEntry, AppendGroup } from './appendQueue.ts';

/** The outcome of each group, in order. The base is the position before the first event written. */
export type BatchRow = readonly [
  base: string,
  verdicts: readonly number[],
  currentRevisions: readonly string[],
  foundRevisions: readonly (string | null)[] | null,
  foundPositions: readonly (string | null)[] | null,
];
const VERDICT = { appended: 0, conflict: 1, rewritten: 2, present: 3 } as const;

const EXPECTED = { noStream: -1, any: -2, streamExists: -4 } as const;
const expectedCode = (expected: ExpectedRevision): number =>
  typeof expected === 'number' ? expected : EXPECTED[expected];

const APPEND = {
  name: 'coffer-append-v1',
  text: `select base, verdicts, current_revisions, found_revisions, found_positions
         from log.append_v1($1::text[], $2::bigint[], $3::uuid[],
                            $4::int[], $5::int[], $6::uuid[], $7::text[], $8::text[], $9::text[])`,
  rowMode: 'array',
} as const;
/** For batches with combined appends without an exact revision. */
const APPEND_FRESH = {
  name: 'coffer-append-v2',
  text: `select base, verdicts, current_revisions, found_revisions, found_positions
         from log.append_v2($1::text[], $2::bigint[], $3::uuid[],
                            $4::int[], $5::int[], $6::uuid[], $7::text[], $8::text[], $9::text[],
                            $10::int[], $11::uuid[])`,
  rowMode: 'array',
} as const;

/** The statement with its parameters. */
export function appendCall(batch: readonly AppendGroup[]) {
  const entryNumbers: number[] = [];
  const places: number[] = [];
  const ids: string[] = [];
  const types: string[] = [];
  const datas: string[] = [];
  const metadatas: string[] = [];
  const freshNumbers: number[] = [];
  const freshIds: string[] = [];
  batch.forEach((group, index) => {
    let place = 0;
    for (const { request } of group.entries) {
      for (const { id, type, data, metadata } of request.events) {
        place += 1;
        entryNumbers.push(index + 1);
        places.push(place);
        ids.push(id);
        types.push(type);
        datas.push(data);
        metadatas.push(metadata);
      }
    }
    for (const id of group.freshIds()) {
      freshNumbers.push(index + 1);
      freshIds.push(id);
    }
  });
  const values = [
    textArray(batch.map(({ stream }) => stream)),
    int8Array(batch.map(({ expectedRevision }) => expectedCode(expectedRevision))),
    uuidArray(batch.map(({ expectedLastEventId }) => expectedLastEventId ?? null)),
    int4Array(entryNumbers),
    int4Array(places),
    uuidArray(ids),
    textArray(types),
    textArray(datas),
    textArray(metadatas),
  ];
  return freshIds.length === 0
    ? { ...APPEND, values }
    : { ...APPEND_FRESH, values: [...values, int4Array(freshNumbers), uuidArray(freshIds)] };
}

/** `undecided`: its group was not written as one, which decides none of its appends. */
export type EntryOutcome = { readonly entry: AppendEntry } & (
  | { readonly outcome: 'stands'; readonly result: AppendResult }
  | { readonly outcome: 'rewritten' | 'undecided' }
  | { readonly outcome: 'denied'; readonly currentRevision: number }
);

/** The database's answer to each append of the batch. */
export function* outcomesOf(batch: readonly AppendGroup[], row: BatchRow): Generator<EntryOutcome> {
  const [base, verdicts, currentRevisions, foundRevisions, foundPositions] = row;
  let position = BigInt(base);
  for (const [index, { entries }] of batch.entries()) {
    const verdict = verdicts[index];
    let revision = Number(currentRevisions[index]);
    for (const entry of entries) {
      if (verdict === VERDICT.appended) {
        position += BigInt(entry.request.events.length);
        revision += entry.request.events.length;
        const result = { revision, position: position.toString() as Position, alreadyAppended: false };
        yield { entry, outcome: 'stands', result };
      } else if (entries.length > 1) {
        yield { entry, outcome: 'undecided' };
      } else if (verdict === VERDICT.present) {
        const found = `${foundPositions?.[index]}` as Position;
        const result = { revision: Number(foundRevisions?.[index]), position: found, alreadyAppended: true };
        yield { entry, outcome: 'stands', result };
      } else if (verdict === VERDICT.rewritten) {
        yield { entry, outcome: 'rewritten' };
      } else {
        yield { entry, outcome: 'denied', currentRevision: revision };
      }
    }
  }
}
