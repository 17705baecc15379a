/**
 * A log written by the previous release, using all its features: it is taken over whole and keeps its meaning.
 * It includes a late rollback of nothing, which had made an entry of 0.
 */
import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from '@coffer/database';
import { migrateAll, migrationsOf } from '@coffer/host';
import { type AppPlace, placeOf, requireStatus } from '@coffer/host/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { CONTEXTS } from './contexts.ts';
import type { ImportResult } from './importStreams.ts';
import { importLogOf } from './testing/importedLog.ts';
import { caughtUpRows, freshRows } from './testing/readModels.ts';
import { startNode, type World } from './testing/world.ts';

const fixture = (name: string) => new URL(`./fixtures/formerRelease.${name}`, import.meta.url);

async function sqlOf(schema: string, name: string): Promise<string> {
  for (const part of migrationsOf(CONTEXTS.definitions).filter((each) => each.schema === schema)) {
    const path = join(part.folder, name);
    if (existsSync(path)) return readFile(path, 'utf8');
  }
  throw new Error(`The migration ${schema}/${name} is gone.`);
}

/** What that release reported about it. */
interface Told {
  readonly appId: string;
  readonly scopeId: string;
  readonly head: NonNullable<ImportResult['head']>;
  readonly totals: { readonly test: readonly object[]; readonly live: readonly object[] };
  readonly sessions: { readonly settled: string; readonly open: string };
}

describe('the log of the former release', () => {
  let told: Told;
  /** For each schema, the migrations it had applied, with their hashes. */
  let applied: Readonly<Record<string, Readonly<Record<string, string>>>>;
  let database: TestDatabase;
  let imported: ImportResult;
  let node: Omit<World, 'databaseUrl' | 'pool'>;
  let test: AppPlace;

  /** As that release did at a start: each file, and a row in a table of its schema. */
  async function migrateAsThatRelease(pool: Pool): Promise<void> {
    for (const [schema, files] of Object.entries(applied)) {
      await pool.query(
        `create schema ${schema};
           create table ${schema}.migrations
             (name text primary key, sha256 text not null, applied_at timestamptz not null default now())`,
      );
      for (const [name, sha256] of Object.entries(files)) {
        await pool.query(await sqlOf(schema, name));
        await pool.query(`insert into ${schema}.migrations (name, sha256) values ($1, $2)`, [name, sha256]);
      }
    }
  }

  before(async () => {
    told = JSON.parse(await readFile(fixture('json'), 'utf8'));
    applied = JSON.parse(await readFile(fixture('migrations.json'), 'utf8'));
    database = await createTestDatabase({ name: 'former', prepare: migrateAsThatRelease });
    const { pool } = database;
    await migrateAll(pool, CONTEXTS.definitions);
    imported = await importLogOf(database, told, createReadStream(fixture('jsonl')));
    node = await startNode(database.connectionString);
    await caughtUpRows(database.connectionString);
    test = await placeOf(node.client, told.appId, 'test');
  });
  after(async () => {
    await node.stop();
    await database.drop();
  });

  it('lies in a database whose migrations are known to have run, and go on', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select split_part(name, ' ', 1) as name from records.knex_migrations`,
    );
    const names = rows.map(({ name }) => name);
    expect(names).to.include.members(Object.keys(applied.records ?? {}));
    expect(new Set(names)).to.have.property('size', names.length);
  });

  it('is imported whole, and chained to the same end', () => {
    expect(imported).to.deep.include({ appended: told.head.ordinal, passedOver: 0, head: told.head });
  });

  it('is verified, event by event', async () => {
    const verified = (await node.client.lines('/portal/log/verification')).at(-1);
    expect(verified?.result).to.deep.include({ ok: true, unchained: 0 });
  });

  for (const environment of ['test', 'live'] as const) {
    it(`folds to the same balances in ${environment}, and reconciles`, async () => {
      const place = `/portal/app/${told.appId}/${environment}`;
      const { json } = requireStatus(await node.client.get(`${place}/totals`), 200);
      expect(json.items).to.deep.equal(told.totals[environment]);
      for (const full of [false, true]) {
        const report = requireStatus(await node.client.post(`${place}/reconcile`, { full }), 200);
        const { result } = JSON.parse(report.text.trim().split('\n').at(-1) ?? '{}');
        expect(result, report.text).to.deep.include({ ok: true, discrepancies: [] });
      }
    });
  }

  it('makes the rows that it makes when they are filled anew', async () => {
    const rows = await caughtUpRows(database.connectionString);
    expect(rows).to.deep.equal(await freshRows(database.connectionString));
  });

  it('continues: what was answered is answered again, and an open session is played to its end', async () => {
    const { settled, open } = told.sessions;
    const first = { sessionId: settled, transactionUuid: 'b1', amount: '100', roundId: 'r1' };
    const { roundId: _, ...answered } = first;
    const again = await test.bet(first);
    expect(again).to.include({ status: 200, replayed: true });
    expect(again.json).to.deep.equal({ ...answered, balance: '200', status: 'accepted' });
    expect(await test.bet({ ...first, amount: '101' })).to.include({ status: 409 });
    const end = requireStatus(await test.settle({ sessionId: open }), 200);
    expect(end.json).to.include({ totalBet: '25', payout: '175', net: '-25' });
  });
});
