/**
 * `coffer streams import`: moves an installation to the store that is now configured. The procedure is in
 * docs/operating/eventstoredb.md.
 */
import { createReadStream } from 'node:fs';
import { auditErrors, carryChain } from '@coffer/audit';
import { type Pool, withConnection } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { migrateAll } from '@coffer/host';
import { createLogger } from '@coffer/http';
import { Rejection } from '@coffer/kernel';
import { importLog, portalErrors } from '@coffer/portal';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { configFrom } from './config.ts';
import { CONTEXTS } from './contexts.ts';
import { openEventStore } from './eventStore.ts';
import { forgetDerived, refuseWhileServicesRun } from './resetConsumers.ts';
import { openDatabase, withPool } from './run.ts';

import { startFailure } from './startFailure.ts';

export interface ImportResult {
  /** In the log now. */
  readonly events: number;
  /** How many of them this import wrote; the others were already there. */
  readonly appended: number;
  /** Lines of streams that are not ours. */
  readonly passedOver: number;
  /** The end of the chain, which covers all of them; null for an empty log. */
  readonly head: { readonly ordinal: number; readonly hash: string } | null;
  /** Schemas that were dropped; the next start fills new ones from the log. */
  readonly dropped: readonly string[];
  /** Consumers that read the log from its beginning at the next start. */
  readonly restarted: readonly string[];
}

export interface ImportSource {
  /** Undefined: standard input. */
  readonly path: string | undefined;
  readonly onProgress: (events: number) => void;
}

/** Into the configured store. Throws a `CommandFailure` that says what to do. */
export async function importStreamsFrom(
  environment: NodeJS.ProcessEnv,
  { path, onProgress }: ImportSource,
): Promise<ImportResult> {
  try {
    const config = configFrom(environment);
    const logger = createLogger({ level: 'silent' });
    const chunks = path === undefined ? process.stdin : createReadStream(path);
    const database = await openDatabase(config, logger, (error) => logger.fatal({ err: error }, 'lost'));
    try {
      return await withPool(database.url, async (pool) => {
        await migrateAll(pool, CONTEXTS.definitions);
        const store = await openEventStore({ config, databaseUrl: database.url, logger });
        try {
          return await importStreams({ pool, store, chunks, onProgress });
        } finally {
          await store.close();
        }
      });
    } finally {
      await database.stop();
    }
  } catch (error) {
    throw importFailure(error, path) ?? startFailure(error) ?? error;
  }
}

/**
 * Safe to kill and repeat at any time: until the last transaction only events are written, and existing ones are not
 * written again. One transaction discards what was read of the log and changes the chain, since both refer to
 * positions that no longer exist.
 */
export function importStreams({
  pool,
  store,
  chunks,
  onProgress,
}: {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly onProgress: (events: number) => void;
}): Promise<ImportResult> {
  return withConnection(pool, async (client) => {
    await refuseWhileServicesRun(client);
    const chain = await carryChain(client);
    const imported = await importLog({ chunks, store, chain, onProgress });
    const head = await chain.finish();
    await client.query('begin');
    const forgotten = await forgetDerived(client);
    await chain.replace();
    await client.query('commit');
    return {
      ...imported,
      head: head ? { ordinal: head.ordinal, hash: head.hash.toString('hex') } : null,
      ...forgotten,
    };
  });
}

/** Undefined for a failure that any start may have. */
function importFailure(error: unknown, path: string | undefined): CommandFailure | undefined {
  if (error instanceof Rejection) {
    const messages: Readonly<Record<string, { readonly message: string }>> = {
      ...portalErrors,
      ...auditErrors,
    };
    const text = `${error.code}: ${messages[error.code]?.message}\n${JSON.stringify(error.details)}`;
    return new CommandFailure(EXIT.refused, text, { cause: error });
  }
  if (error instanceof Error && 'path' in error && error.path === path && path !== undefined) {
    return new CommandFailure(EXIT.wrongUsage, `${path} cannot be read: ${error.message}`, { cause: error });
  }
  return undefined;
}
