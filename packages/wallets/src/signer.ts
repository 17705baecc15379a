/**
 * Callers ask for a signature and never get the key. Nothing above this interface knows where keys are, so that a
 * separate process or machine could do the signing.
 */
import type { Pool } from '@coffer/database';
import { isId } from '@coffer/kernel';
import type { WalletPlace } from './domain/walletIds.ts';
import { sign } from './ed25519.ts';
import { openKey } from './envelope.ts';
import { reject } from './errors.ts';
import type { MasterKeys } from './masterKeys.ts';
import { type KeyOpening, takeKeyForOpening } from './sealedKeys.ts';

export interface Signer {
  /**
   * The ed25519 signature (64 bytes) of the message by the wallet's key. The opening, with who asked and what for, is
   * recorded before it happens. The wallet is looked up in its scope and environment only. The caller must have checked
   * that this may be signed. Throws `wallets/not_found`, `wallets/keys_unavailable`, and a `SealedKeyError` if the
   * stored key is no longer what was stored.
   */
  readonly sign: (wallet: WalletPlace, message: Uint8Array, opening: KeyOpening) => Promise<Buffer>;
}

export function createSigner({
  pool,
  masterKeys,
}: {
  readonly pool: Pool;
  readonly masterKeys: Pick<MasterKeys, 'find'>;
}): Signer {
  return {
    async sign(wallet, message, opening) {
      if (!isId('wlt', wallet.walletId)) throw reject('wallets/not_found');
      const stored = await takeKeyForOpening(pool, wallet, opening);
      if (!stored) throw reject('wallets/not_found');
      const { identity, sealed } = stored;
      const masterKey = masterKeys.find(identity.environment, sealed.masterKeyVersion);
      if (!masterKey) {
        throw reject('wallets/keys_unavailable', {
          environment: identity.environment,
          version: sealed.masterKeyVersion,
        });
      }
      return openKey(sealed, identity, masterKey, (seed) => sign(seed, message));
    },
  };
}
