/** The contract on the oldest supported PostgreSQL. The other specs run on the embedded one, the newest. */
import { createPool, OLDEST_POSTGRES, requireSupportedPostgres, withPool } from '@coffer/database';
import { type PrivateServer, startPrivateServer } from '@coffer/testing';
import { expect } from 'chai';
import { eventStoreContract } from '../eventStore.contract.ts';
import { ourLogContract } from '../ourLog.contract.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { oldestPostgresPrograms } from '../testing/oldestPostgres.ts';
import { postgresHarness, sharedLogHarness } from '../testing/postgresHarness.ts';

const programs = oldestPostgresPrograms();

describe(`PostgreSQL ${OLDEST_POSTGRES}`, () => {
  if (programs === undefined) {
    // Without a body it is reported as pending, so that nobody takes it for passed.
    it('holds the contract: it is not on this machine (set COFFER_SPEC_OLDEST_POSTGRES to its programs)');
    return;
  }

  let server: PrivateServer;
  let databases = 0;
  before(async () => {
    server = await startPrivateServer(programs);
  });
  after(() => server.stop());

  /** A new database with a log, in the server. */
  async function newDatabase() {
    databases += 1;
    const name = `log_${databases}`;
    await withPool(server.connectionString, (pool) => pool.query(`create database ${name}`));
    const url = new URL(server.connectionString);
    url.pathname = `/${name}`;
    const pool = createPool({ connectionString: url.href, applicationName: 'spec', onIdleError() {} });
    await logTemplate.prepare(pool);
    return { connectionString: url.href, pool, drop: () => pool.end() };
  }

  it("is the server's version", () =>
    withPool(server.connectionString, async (pool) => {
      expect(await requireSupportedPostgres(pool)).to.include({ major: OLDEST_POSTGRES });
    }));

  eventStoreContract(`postgres ${OLDEST_POSTGRES}`, async () => postgresHarness(await newDatabase()));
  ourLogContract(`postgres ${OLDEST_POSTGRES}`, async () => sharedLogHarness(await newDatabase()));
});
