/** For this package's specs: a database with the portal's tables, and an operator's transaction. */

import { migrate, type Pool } from '@coffer/database';
import { idFromParts, newId } from '@coffer/kernel';
import type { TestDatabase, TestDatabaseTemplate } from '@coffer/testing';
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

/** Its copies have the portal's tables. */
export const portalTemplate: TestDatabaseTemplate = {
  name: 'portal records',
  prepare: (pool) => migrate(pool, [portalMigrations]),
};

/** In a copy of the template, which is dropped when the world is closed. */
export function startPortalWorld({ pool, drop }: TestDatabase): PortalWorld {
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
    close: drop,
  };
}
