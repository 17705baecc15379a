/** The one key of a wallet, durable before anything says that the wallet exists. */
import type { Pool } from '@coffer/database';
import type { Clock } from '@coffer/kernel';
import type { WalletPlace } from './domain/walletIds.ts';
import { generateKeyPair } from './ed25519.ts';
import { sealKey } from './envelope.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { currentMasterKey } from './masterKeyVersions.ts';
import { findKey, insertKey, type KeptKey } from './sealedKeys.ts';

export interface WalletKeyDependencies {
  readonly pool: Pool;
  readonly masterKeys: Pick<MasterKeys, 'find'>;
  readonly clock: Clock;
}

/**
 * A rotation can change the current version meanwhile; we seal again up to this many times. Rotations are months apart.
 */
const MAX_ROTATIONS_MET = 5;

/** Made and sealed unless somebody already has. Throws `wallets/keys_unavailable`. */
export async function keyOf(
  { pool, masterKeys, clock }: WalletKeyDependencies,
  place: WalletPlace,
): Promise<KeptKey> {
  const found = await findKey(pool, place.walletId);
  if (found) return found;
  for (let attempt = 0; attempt < MAX_ROTATIONS_MET; attempt++) {
    const masterKey = await currentMasterKey(pool, masterKeys, place.environment);
    const kept = await insertKey(pool, sealedKeyPair(place, masterKey), clock());
    if (kept) return kept;
    const other = await findKey(pool, place.walletId);
    if (other) return other;
  }
  throw new Error(`The master key was rotated ${MAX_ROTATIONS_MET} times while one key was being sealed.`);
}

function sealedKeyPair(place: WalletPlace, masterKey: MasterKey) {
  const { seed, publicKey } = generateKeyPair();
  try {
    const identity = { ...place, publicKey };
    return { identity, sealed: sealKey(seed, identity, masterKey) };
  } finally {
    seed.fill(0);
  }
}
