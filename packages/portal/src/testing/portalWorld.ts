/** For this package's specs: a database with the portal's tables, and an operator's transaction. */
import { createPool, migrate, type Pool } from '@coffer/database';
import { idFromParts, newId } from '@coffer/kernel';
import { type AdminTransaction, createAdminTransaction } from '../adminActions.ts';
import { type App, insertApp } from '../apps.ts';
import type { PortalGiven } from '../context.ts';
import { addCurrency, type Currency } from '../currencies.ts';
import { portalMigrations } from '../migrations.ts';

export interface PortalWorld {
  readonly pool: Pool;
  readonly transaction: AdminTransaction;
  /** An app without keys, currencies and settings. */
  readonly newApp: (name?: string) => Promise<App>;
  readonly addCurrency: (appId: string, currency: Currency) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** For an installation without a chain. */
export const PORTAL_GIVEN: PortalGiven = {
  acceptsLoopback: false,
  mints: { ensure: async () => undefined, checkOn: () => undefined, errors: [] },
};

export const NOW = new Date('2026-03-01T12:00:00.000Z');
export const OPERATOR = { actor: 'operator', requestId: 'req-1' };

const openPool = (connectionString: string): Pool =>
  createPool({
    connectionString,
    maxConnections: 4,
    applicationName: 'portal spec',
    onIdleError: (error) => {
      throw error;
    },
  });

/** For `createTestDatabase`: copies of it have the portal's tables. */
export const portalTemplate = {
  name: 'portal records',
  prepare: async (connectionString: string): Promise<void> => {
    const pool = openPool(connectionString);
    await migrate(pool, [portalMigrations]);
    await pool.end();
  },
};

/** In a copy of the template, which is dropped when the world is closed. */
export function startPortalWorld(database: {
  readonly connectionString: string;
  readonly drop: () => Promise<void>;
}): PortalWorld {
  const pool = openPool(database.connectionString);
  const transaction = createAdminTransaction(pool, () => NOW);
  return {
    pool,
    transaction,
    newApp: async (name = 'Arcade') => {
      const appId = newId('app');
      const app = { appId, name, scopeId: idFromParts('scp', appId), createdAt: NOW };
      await insertApp(pool, app);
      return app;
    },
    addCurrency: async (appId, currency) => {
      await transaction(OPERATOR, (change) => addCurrency(change, appId, currency));
    },
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}
