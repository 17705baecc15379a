/**
 * Play recorded against a release that kept the states of sessions otherwise: its log, and each of 631 requests with
 * the answer to its repeat. A session of 223 events, repeats, other content under a used key, refusals, amounts of
 * 2^64−1, rollbacks of bets that came later, batches.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import { type AppPlace, placeOf } from '@coffer/host/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { importLogOf } from './testing/importedLog.ts';
import { serviceTemplate, startNode } from './testing/world.ts';

interface Recorded {
  readonly appId: string;
  readonly scopeId: string;
  readonly asked: readonly {
    readonly path: string;
    readonly body: object;
    readonly status: number;
    readonly text: string;
  }[];
}

const fixture = (name: string) => new URL(`./fixtures/recordedAnswers.${name}`, import.meta.url);

describe('answers recorded by a former release', () => {
  let recorded: Recorded;
  let database: TestDatabase;
  /** Of sessions that are worth a snapshot. */
  let openStreams: readonly string[];

  before(async () => {
    recorded = JSON.parse(String(await promisify(gunzip)(await readFile(fixture('json.gz')))));
    database = await createTestDatabase(serviceTemplate);
    const chunks = createReadStream(fixture('log.jsonl.gz')).pipe(createGunzip());
    await importLogOf(database, recorded, chunks);
    const { rows } = await database.pool.query<{ stream: string }>(
      `select stream from log.events where stream like 'playSession-%' group by stream
       having count(*) > 16 and not bool_or(type = 'SessionSettled')`,
    );
    openStreams = rows.map(({ stream }) => stream);
  });
  after(() => database.drop());

  async function storedEvents(): Promise<number> {
    const { rows } = await database.pool.query<{ count: number }>(
      'select count(*)::int as count from log.events',
    );
    return rows[0]?.count ?? 0;
  }

  async function expectTheSame({ post }: AppPlace): Promise<void> {
    const before = await storedEvents();
    for (const { path, body, status, text } of recorded.asked) {
      const answer = await post(path, body);
      expect({ body, status: answer.status, text: answer.text }).to.deep.equal({ body, status, text });
    }
    expect(await storedEvents()).to.equal(before);
  }

  async function withANode(use: (place: AppPlace) => Promise<void>): Promise<void> {
    const node = await startNode(database.connectionString, { roles: ['api'] });
    try {
      await use(await placeOf(node.client, recorded.appId, 'test'));
    } finally {
      await node.stop();
    }
  }

  it('are given again, byte for byte, from states folded from its log', async () => {
    await withANode(expectTheSame);
  });

  it('are given again from the snapshots that a stop leaves', async () => {
    const { rows } = await database.pool.query(`select stream from cache.snapshots where stream = any ($1)`, [
      openStreams,
    ]);
    expect(rows).to.have.lengthOf(openStreams.length).and.to.not.be.empty;
    await withANode(expectTheSame);
  });
});
