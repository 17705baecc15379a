import { createTestDatabase, failureOf, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { column, type RowOf, rowTable, type StoredRow } from './rowTable.ts';
import { keptPlans } from './testing/keptPlans.ts';

const columns = {
  player: column.text(),
  level: column.integer,
  score: column.amount,
  note: column.text(),
  joinedAt: column.instant,
  leftAt: column.optional(column.instant),
  prize: column.optional(column.amount),
};
type Row = RowOf<typeof columns>;
const table = rowTable<Row>('players', 'player', columns);

const ANN: Row = {
  player: 'ann',
  level: 1,
  score: 10n ** 40n,
  note: 'a "quoted" {brace}, \\ and NULL: ü€😀',
  joinedAt: '2026-01-31T12:00:00.123Z',
  leftAt: null,
  prize: null,
};
const BOB: Row = { ...ANN, player: 'bob', note: '' };

describe('a table of rows', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createTestDatabase();
    await database.pool.query(`
      create schema read_v1;
      create table read_v1.players (
        player text primary key, ordinal bigint not null, level integer not null, score numeric not null, note text not null,
        joined_at timestamptz not null, left_at timestamptz, prize numeric)`);
  });
  after(() => database.drop());
  beforeEach(async () => {
    await database.pool.query('delete from read_v1.players');
    await write([
      { row: ANN, ordinal: 1n },
      { row: BOB, ordinal: 2n },
    ]);
  });

  const write = (rows: readonly StoredRow<Row>[]) => table.write(database.pool, 'read_v1', rows);
  const update = (...changes: readonly (readonly [from: Row, to: Row])[]) =>
    table.update(
      database.pool,
      'read_v1',
      changes.map(([from, to]) => ({ from, to })),
    );
  const stored = async () => [
    ...(await table.read(database.pool, 'read_v1', ['ann', 'bob', 'eve'])).values(),
  ];

  it('reads what was written', async () => {
    expect(await stored()).to.have.deep.members([
      { row: ANN, ordinal: 1n },
      { row: BOB, ordinal: 2n },
    ]);
    expect(await table.lastOrdinal(database.pool, 'read_v1')).to.equal(2n);
  });

  it('writes a whole row in the place of the one with its key', async () => {
    const other: Row = { ...ANN, level: 7, note: 'other', leftAt: '2026-02-01T00:00:00.000Z', prize: 5n };
    await write([{ row: other, ordinal: 3n }]);
    expect(await stored()).to.have.deep.members([
      { row: other, ordinal: 3n },
      { row: BOB, ordinal: 2n },
    ]);
  });

  it('updates rows that change in different columns, to null and from null', async () => {
    const left: Row = { ...ANN, leftAt: '2026-02-01T00:00:00.000Z', prize: -3n };
    const better: Row = { ...BOB, score: 12n };
    await update([ANN, left], [BOB, better]);
    expect(await stored()).to.have.deep.members([
      { row: left, ordinal: 1n },
      { row: better, ordinal: 2n },
    ]);
    await update([left, ANN]);
    expect(await stored()).to.have.deep.members([
      { row: ANN, ordinal: 1n },
      { row: better, ordinal: 2n },
    ]);
  });

  it('sends only the columns that change', async () => {
    await database.pool.query(`update read_v1.players set note = 'changed by hand'`);
    await update([ANN, { ...ANN, level: 2 }]);
    const rows = (await stored()).map(({ row }) => row);
    expect(rows.find(({ player }) => player === 'ann')).to.deep.equal({
      ...ANN,
      level: 2,
      note: 'changed by hand',
    });
  });

  it('updates more rows than a statement takes', async () => {
    const many = Array.from({ length: 1_201 }, (_, index): Row => ({ ...ANN, player: `p${index}` }));
    await write(many.map((row, index) => ({ row, ordinal: BigInt(index) })));
    await update(...many.map((row, index) => [row, { ...row, level: index }] as const));
    const { rows } = await database.pool.query(
      `select count(*)::int as count from read_v1.players where player = 'p' || level and ordinal = level`,
    );
    expect(rows).to.deep.equal([{ count: 1_201 }]);
  });

  it('asks nothing for rows that stay as they are', async () => {
    await update([ANN, { ...ANN }]);
    expect(await stored()).to.deep.include({ row: ANN, ordinal: 1n });
  });

  it('is planned for its rows of the moment, but for inserts', async () => {
    await update([ANN, { ...ANN, level: 2 }]);
    await stored();
    expect(await keptPlans(database.pool)).to.deep.equal(['insert']);
  });

  it('refuses to change a row that is not there', async () => {
    const eve: Row = { ...ANN, player: 'eve' };
    const failure = await failureOf(update([ANN, { ...ANN, level: 2 }], [eve, { ...eve, level: 2 }]));
    expect(failure.message).to.include('every row that changes is in players');
  });
});
