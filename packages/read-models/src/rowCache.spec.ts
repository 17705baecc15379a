import type { Queryable } from '@coffer/database';
import { expect } from 'chai';
import { createRowCache } from './rowCache.ts';
import type { RowTable, StoredRow } from './rowTable.ts';

interface Score {
  readonly player: string;
  readonly points: number;
}

describe('the cache of rows', () => {
  // Only the table would use it.
  const db = {} as Queryable;

  function cacheOf(stored = new Map<string, StoredRow<Score>>()) {
    const asked: string[] = [];
    const table: Pick<RowTable<Score>, 'keyOf' | 'read' | 'write' | 'update' | 'lastOrdinal'> = {
      keyOf: ({ player }) => player,
      async read(_db, _schema, keys) {
        asked.push(...keys);
        return new Map([...stored].filter(([key]) => keys.includes(key)));
      },
      async write(_db, _schema, rows) {
        for (const each of rows) stored.set(each.row.player, each);
      },
      async update(_db, _schema, changes) {
        for (const { from, to } of changes) {
          const known = stored.get(to.player);
          expect(from).to.deep.equal(known?.row);
          if (known) stored.set(to.player, { ...known, row: to });
        }
      },
      lastOrdinal: async () => BigInt(stored.size),
    };
    const cache = createRowCache('read_v1', table as RowTable<Score>);
    return {
      ...cache,
      asked,
      async play(players: readonly string[]) {
        const before = await cache.read(db, players);
        await cache.write(
          db,
          before,
          players.map((player) => ({ player, points: (before.get(player)?.row.points ?? 0) + 1 })),
        );
      },
      points: async (player: string) => (await cache.read(db, [player])).get(player)?.row.points,
    };
  }
  const players = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => `p${from + index}`);

  it('reads a row once, and knows it as it was written', async () => {
    const stored = new Map<string, StoredRow<Score>>();
    const { play, points, asked } = cacheOf(stored);
    for (let turn = 0; turn < 3; turn++) await play(['ann', 'bob']);
    expect([await points('ann'), asked]).to.deep.equal([3, ['ann', 'bob']]);
    expect(stored.get('ann')?.row.points).to.equal(3);
  });

  it('numbers new rows in the order of the log', async () => {
    const { play, read } = cacheOf();
    await play(['ann', 'bob']);
    await play(['bob', 'eve']);
    const rows = await read(db, ['ann', 'bob', 'eve']);
    expect([...rows.values()].map(({ row, ordinal }) => [row.player, ordinal])).to.have.deep.members([
      ['ann', 1n],
      ['bob', 2n],
      ['eve', 3n],
    ]);
  });

  it('forgets what was not written while 20,000 to 40,000 events passed', async () => {
    const { play, passed, points, asked } = cacheOf();
    await play(['ann', 'bob']);
    passed(20_000);
    await play(['bob']);
    passed(19_999);
    expect([await points('ann'), asked.length]).to.deep.equal([1, 2]);
    passed(1);
    expect([await points('bob'), asked.length]).to.deep.equal([2, 2]);
    expect([await points('ann'), asked.slice(2)]).to.deep.equal([1, ['ann']]);
  });

  it('keeps ten thousand rows that go on being written', async () => {
    const { play, passed, asked } = cacheOf();
    for (let turn = 0; turn < 4; turn++) {
      for (let from = 0; from < 10_000; from += 1_000) {
        passed(1_000);
        await play(players(1_000, from));
      }
    }
    expect(asked).to.have.length(10_000);
  });

  it('forgets the rows that were written longest ago when there are more', async () => {
    const { play, points, asked } = cacheOf();
    await play(players(9_000));
    await play(players(2_000, 9_000));
    await play(players(9_000, 11_000));
    asked.length = 0;
    expect([await points('p19999'), asked]).to.deep.equal([1, []]);
    expect([await points('p0'), asked]).to.deep.equal([1, ['p0']]);
  });

  it('forgets everything when it is told to', async () => {
    const { play, forget, points, asked } = cacheOf();
    await play(['ann']);
    forget();
    expect([await points('ann'), asked]).to.deep.equal([1, ['ann', 'ann']]);
  });
});
