/** A database with the wallets' tables, an event store, and processes on it that hold master keys. For specs. */

import { createPublicKey, verify } from 'node:crypto';
import { migrate, type Pool } from '@coffer/database';
import { type CommandContext, createCommandHandler } from '@coffer/event-store';
import { createPostgresEventStore, logMigrations } from '@coffer/event-store/postgres';
import { type Clock, newId, type UserPlace } from '@coffer/kernel';
import { createMoves } from '@coffer/moves';
import type { TestDatabase, TestDatabaseTemplate } from '@coffer/testing';
import { type AdmittedMoves, createAdmittedMoves } from '../admittedMoves.ts';
import type { WalletPlace } from '../domain/walletIds.ts';
import { openKey } from '../envelope.ts';
import { createExports, type Exports } from '../exports.ts';
import { createMasterKeys, type MasterKey, type MasterKeys, newMasterKey } from '../masterKeys.ts';
import { adoptMasterKeys } from '../masterKeyVersions.ts';
import { walletMigrations } from '../migrations.ts';
import { createOperatorWallets, type OperatorWallets } from '../operator/operatorWallets.ts';
import { takeKeyForOpening } from '../sealedKeys.ts';
import { createSigner, type Signer } from '../signer.ts';
import { createWallets, type Wallets } from '../wallets.ts';

export const NOW = new Date('2026-01-02T03:04:05.678Z');

export interface WalletProcess {
  readonly masterKeys: MasterKeys;
  readonly wallets: Wallets;
  readonly operatorWallets: OperatorWallets;
  readonly signer: Signer;
  readonly exports: Exports;
  readonly moves: AdmittedMoves;
}

export interface WalletWorld {
  readonly pool: Pool;
  readonly store: ReturnType<typeof createPostgresEventStore>;
  /** A process with those keys, which it has compared with the database's. */
  readonly start: (keys: readonly MasterKey[], clock?: Clock) => Promise<WalletProcess>;
  readonly stop: () => Promise<void>;
}

export const activation = { actor: 'operator', requestId: 'req-start', at: NOW };

export const firstKeys = (): readonly MasterKey[] => [newMasterKey('test', 1), newMasterKey('live', 1)];

/** Its copies have the log and the wallets' tables. */
export const walletTemplate: TestDatabaseTemplate = {
  name: 'wallets',
  prepare: (pool) => migrate(pool, [logMigrations, walletMigrations]),
};

/** Makes a copy of the template, and drops it at the end. */
export function startWalletWorld({ connectionString, pool, drop }: TestDatabase): WalletWorld {
  const store = createPostgresEventStore({ connectionString, applicationName: 'spec-log' });
  return {
    pool,
    store,
    async start(keys, clock = () => NOW) {
      const masterKeys = createMasterKeys(keys);
      await adoptMasterKeys(pool, masterKeys, activation);
      const handler = createCommandHandler({ store });
      const wallets = createWallets({ pool, handler, masterKeys, clock });
      const moves = createAdmittedMoves({
        moves: createMoves({ handler, store }),
        handler,
        store,
        formerMovesOf: async () => [],
      });
      return {
        masterKeys,
        wallets,
        operatorWallets: createOperatorWallets({ pool, handler, masterKeys, clock }),
        signer: createSigner({ pool, masterKeys }),
        moves,
        exports: createExports({ pool, handler, wallets, moves, masterKeys, clock }),
      };
    },
    async stop() {
      await store.close();
      await drop();
    },
  };
}

export const newOwner = (given: Partial<UserPlace> = {}): UserPlace => ({
  scopeId: newId('scp'),
  environment: 'test',
  userId: newId('usr'),
  ...given,
});

export const contextOf = (requestId = 'req-1'): CommandContext => ({
  metadata: { correlationId: requestId, actor: 'key:1', occurredAt: NOW.toISOString() },
  deadlineMs: performance.now() + 120_000,
});

export const openingFor = (purpose: string) => ({ actor: 'key:1', purpose, requestId: 'req-1' });

/** Whether the signature is that of the key behind the wallet's row. */
export async function isSignedBy(
  pool: Pool,
  walletId: string,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const { rows } = await pool.query<{ public_key: Buffer }>(
    'select public_key from records.wallets_sealed_keys where wallet_id = $1',
    [walletId],
  );
  const x = rows[0]?.public_key.toString('base64url') ?? '';
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, message, key, signature);
}

/** The private seed behind a wallet, for specs that look for it where it must not be. */
export async function seedOf(
  pool: Pool,
  place: WalletPlace,
  masterKeys: Pick<MasterKeys, 'find'>,
): Promise<Buffer> {
  const stored = await takeKeyForOpening(pool, place, openingFor('the spec looks'));
  const masterKey = stored && masterKeys.find(place.environment, stored.sealed.masterKeyVersion);
  if (!stored || !masterKey) throw new Error('There is no such wallet, or no key to open its own.');
  return openKey(stored.sealed, stored.identity, masterKey, (seed) => Buffer.from(seed));
}
