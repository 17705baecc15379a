import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { int4Array, int8Array, textArray, uuidArray } from './binaryArrays.ts';
import type { Pool } from './pool.ts';

describe('binary arrays', () => {
  let database: TestDatabase;
  let pool: Pool;
  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
  });
  after(() => database.drop());

  /** Each element as Postgres understood it, as text. */
  async function understood(type: string, array: Buffer): Promise<readonly (string | null)[]> {
    const { rows } = await pool.query<{ element: string | null }>(
      `select element::text from unnest($1::${type}[]) with ordinality as given(element, number) order by number`,
      [array],
    );
    return rows.map(({ element }) => element);
  }
  const readsBack = <Value>(elements: fc.Arbitrary<Value>, check: (values: Value[]) => Promise<void>) =>
    fc.assert(fc.asyncProperty(fc.array(elements, { maxLength: 40 }), check), { numRuns: 60 });

  it('carry every text that has no NUL, and nulls', () =>
    readsBack(
      fc.option(fc.string({ unit: 'binary', maxLength: 200 }).map((text) => text.replaceAll('\0', ''))),
      async (texts) => {
        expect(await understood('text', textArray(texts))).to.deep.equal(texts);
      },
    ));

  it('carry ASCII of every length, and nulls', () =>
    readsBack(
      fc.option(fc.nat(70_000).map((length) => 'a'.repeat(length % 2 === 0 ? length : length % 300))),
      async (texts) => {
        expect(await understood('text', textArray(texts))).to.deep.equal(texts);
      },
    ));

  it('carry every int4', () =>
    readsBack(fc.integer(), async (numbers) => {
      expect(await understood('int4', int4Array(numbers))).to.deep.equal(numbers.map(String));
    }));

  it('carry every safe integer as int8', () =>
    readsBack(fc.maxSafeInteger(), async (numbers) => {
      expect(await understood('int8', int8Array(numbers))).to.deep.equal(numbers.map(String));
    }));

  it('carry UUIDs in either case, and nulls', () =>
    readsBack(fc.option(fc.uuid().chain((id) => fc.constantFrom(id, id.toUpperCase()))), async (ids) => {
      const stored = ids.map((id) => id?.toLowerCase() ?? null);
      expect(await understood('uuid', uuidArray(ids))).to.deep.equal(stored);
    }));

  it('carry nothing else as a UUID', () => {
    const id = '0193b81f-f2f7-7443-8ec7-82689a3a1655';
    for (const wrong of ['', 'evt_1', id.slice(1), `${id}0`, id.replace('f', 'g'), id.replace('5', 'ł')]) {
      expect(() => uuidArray([wrong])).to.throw('no UUID');
    }
  });
});
