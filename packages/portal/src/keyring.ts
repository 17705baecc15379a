/**
 * Identifies the caller by the key presented. Every request passes here, so a known key costs only a hash and a map
 * look-up. An answer is at most 900 ms old, so every process refuses a revoked key within a second.
 * Source: contract, Apps, keys, currencies.
 */
import type { Pool } from '@coffer/database';
import type { AppCaller } from '@coffer/http';
import { type Clock, createCoalescingCache } from '@coffer/kernel';
import { hashToken, isToken } from './apiKey.ts';

import { createKeyLookup, type FoundKey } from './keyLookup.ts';

const MAX_AGE_MS = 900;
/** Early enough that a request in a steady flow never waits for the database. */
const RENEW_AFTER_MS = 600;
/** Unknown keys are cached too; this limits the memory that a flood of them takes. */
const MAX_REMEMBERED_KEYS = 20_000;

export interface Keyring {
  /**
   * The caller that owns this key; undefined for a key that is unknown, revoked or past its grace. Returned at once
   * if known. Rejects with a database error: without an answer nobody is let in.
   */
  readonly resolveKey: (token: string) => AppCaller | undefined | Promise<AppCaller | undefined>;
  /** Waits for what is still being written. */
  readonly close: () => Promise<void>;
}

export interface KeyringOptions {
  /** Decides when a grace is over, and is written as the time of last use. */
  readonly clock: Clock;
  /** Measures the age of an answer; must be monotonic. Default: `performance.now`. */
  readonly nowMs?: () => number;
  /** Called when a time of last use could not be written; the request is not refused for that. */
  readonly onWriteFailure: (error: unknown) => void;
}

export function createKeyring(pool: Pool, options: KeyringOptions): Keyring {
  const { clock, onWriteFailure, nowMs = () => performance.now() } = options;
  const lookup = createKeyLookup(pool, { clock, onWriteFailure });
  const cache = createCoalescingCache<FoundKey | undefined>({
    load: lookup.find,
    lifetimeMs: MAX_AGE_MS,
    renewAfterMs: RENEW_AFTER_MS,
    maximumEntries: MAX_REMEMBERED_KEYS,
    nowMs,
  });

  const callerOf = (found: FoundKey | undefined): AppCaller | undefined => {
    if (!found) return undefined;
    // Only keys in their grace need the clock.
    if (found.expiresAt && found.expiresAt <= clock()) return undefined;
    return found.caller;
  };

  return {
    resolveKey: (token) => {
      if (!isToken(token)) return undefined;
      const found = cache.get(hashToken(token));
      return found instanceof Promise ? found.then(callerOf) : callerOf(found);
    },
    close: lookup.close,
  };
}
