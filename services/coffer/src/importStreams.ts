/**
 * `coffer streams import`: moves an installation to the store that is now configured. The procedure is in
 * docs/operating/eventstoredb.md.
 */
import { createReadStream } from 'node:fs';
import { auditErrors, type ImportedChain, importChainedLog } from '@coffer/audit';
import { type Pool, withConnection } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { Rejection } from '@coffer/kernel';
import { portalErrors } from '@coffer/portal';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { offline } from './database.ts';
import { openEventStore } from './eventStore.ts';
import { forgetDerived, type ResetResult, refuseWhileServicesRun } from './resetConsumers.ts';
import { startFailure } from './startFailure.ts';

export type ImportResult = ImportedChain & ResetResult;

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
    return await offline(environment, async ({ pool, ...opened }) => {
      const store = await openEventStore(opened);
      try {
        return await importStreams({ pool, store, chunks: chunksOf(path), onProgress });
      } finally {
        await store.close();
      }
    });
  } catch (error) {
    throw importFailure(error, path) ?? startFailure(error) ?? error;
  }
}

/** Opened when they are read. */
async function* chunksOf(path: string | undefined): AsyncGenerator<Uint8Array> {
  yield* path === undefined ? process.stdin : createReadStream(path);
}

/** Safe to kill and repeat at any time. */
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
    return importChainedLog(client, { store, chunks, onProgress, forget: forgetDerived });
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
