/**
 * Brings the data keys of all wallets under the current master key, alongside the service's other work. Each batch is
 * durable by itself and the rows show which keys are left, so a process that dies leaves nothing to clean up, and the
 * next start continues. Seeds stay sealed throughout.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Pool, withAdvisoryLock } from '@coffer/database';
import { type Environment, environment as environments } from '@coffer/kernel';
import { rewrapKey, SealedKeyError } from './envelope.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { currentMasterKey, versionsLeftBehind } from './masterKeyVersions.ts';
import { type KeyOpening, replaceWrappings, type StoredKey, takeKeysForRewrapping } from './sealedKeys.ts';

/** Any constant: only one process at a time does this work, since a second would only repeat it. */
const REWRAP_LOCK = 7_263_011;
const BATCH_SIZE = 100;
const RETRY_DELAY_MS = 5_000;

export interface RewrapReport {
  readonly environment: Environment;
  /** The version of the master key that they are under now. */
  readonly version: number;
  readonly rewrapped: number;
}

export interface RewrapperOptions {
  readonly pool: Pool;
  readonly masterKeys: MasterKeys;
  readonly onDone: (report: RewrapReport) => void;
  /** A key whose row was changed is reported and left; after any other failure the work begins again in a while. */
  readonly onTrouble: (error: unknown) => void;
  readonly retryDelayMs?: number;
  readonly batchSize?: number;
}

export interface Rewrapper {
  /** There may be keys under an old version: begins, or looks once more when it gets to the end. */
  readonly wake: () => void;
  /** Finishes the batch in hand. */
  readonly stop: () => Promise<void>;
}

export function startRewrapper(options: RewrapperOptions): Rewrapper {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isWanted = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (isWanted && !signal.aborted) {
      isWanted = false;
      try {
        const done = await withAdvisoryLock(options.pool, REWRAP_LOCK, (lost) =>
          rewrapAll(options, AbortSignal.any([signal, lost])),
        );
        // Another process is doing it, and may die: look again later whether any keys are left.
        if (!done) await waitAndLookAgain();
      } catch (error) {
        if (signal.aborted) return;
        options.onTrouble(error);
        await waitAndLookAgain();
      }
    }
  }

  async function waitAndLookAgain(): Promise<void> {
    isWanted = true;
    await delay(options.retryDelayMs ?? RETRY_DELAY_MS, undefined, { signal }).catch(() => undefined);
  }

  const wake = () => {
    // A process without the key cannot rewrap, and must not take the place of one that can.
    if (signal.aborted || options.masterKeys.all().length === 0) return;
    isWanted = true;
    running ??= run().finally(() => {
      running = undefined;
      // Woken between the last look and the end.
      if (isWanted) wake();
    });
  };
  return {
    wake,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function rewrapAll(options: RewrapperOptions, signal: AbortSignal): Promise<void> {
  for (const environment of environments.options) {
    // A process that may not touch an environment leaves its keys alone.
    if (options.masterKeys.versionsOf(environment).length === 0) continue;
    const to = await currentMasterKey(options.pool, options.masterKeys, environment);
    let rewrapped = 0;
    for (const version of await versionsLeftBehind(options.pool, environment, to.version)) {
      const from = options.masterKeys.find(environment, version);
      if (!from) throw new Error(`The master key ${environment} ${version} is in use and not held here.`);
      rewrapped += await rewrapVersion(options, { from, to }, signal);
    }
    if (rewrapped > 0) options.onDone({ environment, version: to.version, rewrapped });
  }
}

async function rewrapVersion(
  { pool, onTrouble, batchSize = BATCH_SIZE }: RewrapperOptions,
  keys: { readonly from: MasterKey; readonly to: MasterKey },
  signal: AbortSignal,
): Promise<number> {
  const { environment, version } = keys.from;
  const purpose = `rewrap from master key ${version} to ${keys.to.version}`;
  const opening: KeyOpening = { actor: 'service', purpose, requestId: 'rewrap' };
  let rewrapped = 0;
  let after = '';
  for (;;) {
    signal.throwIfAborted();
    const batch = await takeKeysForRewrapping(
      pool,
      { environment, version, after, limit: batchSize },
      opening,
    );
    const last = batch.at(-1);
    if (!last) return rewrapped;
    rewrapped += await replaceWrappings(pool, batch.flatMap(rewrappedUnlessChanged));
    after = last.identity.walletId;
  }

  function rewrappedUnlessChanged({ identity, sealed }: StoredKey) {
    try {
      return [{ walletId: identity.walletId, before: sealed, after: rewrapKey(sealed, identity, keys) }];
    } catch (error) {
      // One row that somebody has changed must not keep all the others under a key that is to go.
      if (!(error instanceof SealedKeyError)) throw error;
      onTrouble(error);
      return [];
    }
  }
}
