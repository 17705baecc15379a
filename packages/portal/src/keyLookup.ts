/**
 * Looks keys up in the database, with at most one query in flight: callers waiting meanwhile share the next one, so
 * a flood of made-up keys costs only one connection.
 */
import { answeredWithin, type Pool, SHARED_ANSWER_WITHIN_MS } from '@coffer/database';
import type { AppCaller } from '@coffer/http';
import { type Clock, type Environment, Rejection } from '@coffer/kernel';
import type { KeyKind } from './apiKey.ts';

const MAX_KEYS_PER_QUERY = 500;
const MAX_WAITING_KEYS = 10_000;
const LAST_USED_PRECISION_MS = 60_000;

export interface FoundKey {
  readonly caller: AppCaller;
  /** The end of its grace; undefined for a key that was not rotated. */
  readonly expiresAt: Date | undefined;
}

export interface KeyLookup {
  /** By the key's SHA-256. Undefined for a key that is unknown or revoked. */
  readonly find: (tokenSha256: string) => Promise<FoundKey | undefined>;
  /** Resolves when any time of last use being written has been written. */
  readonly close: () => Promise<void>;
}

interface KeyRow {
  readonly token_sha256: string;
  readonly key_id: string;
  readonly app_id: string;
  readonly scope_id: string;
  readonly environment: Environment;
  readonly kind: KeyKind;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

export function createKeyLookup(
  pool: Pool,
  { clock, onWriteFailure }: { readonly clock: Clock; readonly onWriteFailure: (error: unknown) => void },
): KeyLookup {
  const waiting = new Map<string, PromiseWithResolvers<FoundKey | undefined>>();
  let draining = false;
  let noteUnderWay: Promise<void> | undefined;

  const drain = async () => {
    draining = true;
    while (waiting.size > 0) {
      const batch = [...waiting.entries()].slice(0, MAX_KEYS_PER_QUERY);
      for (const [tokenSha256] of batch) waiting.delete(tokenSha256);
      try {
        const rows = await selectKeys(
          pool,
          batch.map(([tokenSha256]) => tokenSha256),
        );
        for (const [tokenSha256, { resolve }] of batch) resolve(foundKey(rows.get(tokenSha256)));
        noteUse([...rows.values()]);
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    draining = false;
  };

  const noteUse = (rows: readonly KeyRow[]) => {
    const now = clock();
    const unnoted = rows.filter(
      ({ last_used_at: last }) => !last || now.getTime() - last.getTime() >= LAST_USED_PRECISION_MS,
    );
    // Uses skipped while a write is in flight are recorded with the key's next look-up.
    if (unnoted.length === 0 || noteUnderWay) return;
    noteUnderWay = pool
      .query('update records.api_keys set last_used_at = greatest(last_used_at, $2) where key_id = any($1)', [
        unnoted.map((row) => row.key_id),
        now,
      ])
      .then(() => undefined, onWriteFailure)
      .finally(() => {
        noteUnderWay = undefined;
      });
  };

  return {
    find: (tokenSha256) => {
      const present = waiting.get(tokenSha256);
      if (present) return present.promise;
      if (waiting.size >= MAX_WAITING_KEYS) return Promise.reject(new Rejection('service/overloaded'));

      const asked = Promise.withResolvers<FoundKey | undefined>();
      waiting.set(tokenSha256, asked);
      if (!draining) void drain();
      return asked.promise;
    },
    close: async () => {
      await noteUnderWay;
    },
  };
}

async function selectKeys(pool: Pool, tokenSha256s: readonly string[]): Promise<ReadonlyMap<string, KeyRow>> {
  const asked = answeredWithin(SHARED_ANSWER_WITHIN_MS, {
    name: 'portal_keys_by_hash',
    text: `select token_sha256, key_id, app_id, scope_id, environment, kind, expires_at, last_used_at
             from records.api_keys join records.apps using (app_id)
            where token_sha256 = any($1) and revoked_at is null`,
    values: [tokenSha256s],
  });
  const { rows } = await pool.query<KeyRow>(asked);
  return new Map(rows.map((row) => [row.token_sha256, row]));
}

function foundKey(row: KeyRow | undefined): FoundKey | undefined {
  if (!row) return undefined;
  return {
    caller: Object.freeze({
      kind: row.kind,
      appId: row.app_id,
      scopeId: row.scope_id,
      environment: row.environment,
      keyId: row.key_id,
    }),
    expiresAt: row.expires_at ?? undefined,
  };
}
