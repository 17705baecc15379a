/** For this package's specs: a database with the portal's tables, and an operator's transaction. */
import { createPool, migrate, type Pool } from '@coffer/database';
import type { Position, RecordedEvent } from '@coffer/event-store';
import { idFromParts, newId } from '@coffer/kernel';
import { type AdminTransaction, createAdminTransaction } from './adminActions.ts';
import { type App, insertApp } from './apps.ts';
import { addCurrency, type Currency } from './currencies.ts';
import type { LogReader } from './endpoints/options.ts';
import { portalMigrations } from './migrations.ts';

export interface PortalWorld {
  readonly pool: Pool;
  readonly transaction: AdminTransaction;
  /** An app without keys, currencies and settings. */
  readonly newApp: (name?: string) => Promise<App>;
  readonly addCurrency: (appId: string, currency: Currency) => Promise<void>;
  readonly close: () => Promise<void>;
}

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

/** A log that is just a list: positions are whole numbers, and everything comes in one page. */
export function eventLog(events: readonly RecordedEvent[]): LogReader {
  const numberOf = (position: Position): number => Number(position);
  const page = async function* (wanted: (event: RecordedEvent) => boolean) {
    const found = events.filter(wanted);
    if (found.length > 0) yield found;
  };
  return {
    readAll: ({ from } = {}) =>
      page(({ position }) => from === undefined || numberOf(position) > numberOf(from)),
    readStream: (stream) => page((event) => event.stream === stream),
    // As written by this log.
    parsePosition: (text) => (/^\d+$/.test(text) ? (text as Position) : undefined),
    placeAt: async (position) => {
      const found = events.find((event) => event.position === position);
      return found && { position, eventId: found.id };
    },
  };
}

/** What contexts beyond the portal may answer through it. */
export const foreignErrors = { 'chain/unreachable': { status: 503, message: 'Elsewhere.' } };
