/** A database that is gone without a word: the connections that are open fall silent, and new ones are served. */
import { createPool, type Pool } from '@coffer/database';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import type { Client } from 'pg';
import { projecting } from './projecting.ts';
import { consumerWorld, SCHEMA } from './testing/consumerWorld.ts';

describe('a consumer whose database falls silent', () => {
  const world = consumerWorld();
  const { start, rows, troubles, alarms } = world;
  const open = new Set<Client>();
  /** With the next statement that begins so, every open connection falls silent. */
  let silentFrom: string | undefined;
  let pool: Pool;

  beforeEach(() => {
    silentFrom = undefined;
    pool = createPool({
      connectionString: world.connectionString,
      applicationName: 'spec',
      statementWithinMs: 1_000,
      onIdleError() {},
    });
    pool.on('remove', (client) => open.delete(client as Client));
    pool.on('connect', (one) => {
      const client = one as Client;
      open.add(client);
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      const watched = (...args: unknown[]) => {
        if (silentFrom !== undefined && String(args[0]).startsWith(silentFrom)) {
          silentFrom = undefined;
          // The server hears it and answers, and nothing of that arrives.
          for (const { connection } of open) connection.stream.pause();
        }
        return query(...args);
      };
      // Only the overloads cannot be typed for a wrapper.
      client.query = watched as Client['query'];
    });
  });

  for (const statement of ['begin', `insert into ${SCHEMA}.seen`, `update ${SCHEMA}.consumers`, 'commit']) {
    it(`at "${statement}", reports it, and reads on over new connections with each row written once`, async () => {
      const consumer = start(projecting([world.writesRows()]), { pool, leaseMs: 60_000 });
      world.log.append(3);
      await until(async () => (await rows()).length === 3);
      silentFrom = statement;
      world.log.append(3);
      await until(() => troubles.length > 0);
      await until(() => consumer.status().position === '6');
      expect(await rows()).to.deep.equal(['1', '2', '3', '4', '5', '6']);
      expect(String(troubles[0])).to.equal('Error: Query read timeout');
      expect(alarms).to.deep.equal([]);
      await consumer.stop();
      await pool.end();
    });
  }
});
