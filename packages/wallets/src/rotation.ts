/** Puts the next version of a master key to use. The keys of wallets follow in the background: `rewrap.ts`. */
import type { Pool } from '@coffer/database';
import { type Clock, type Environment, environment as environments } from '@coffer/kernel';
import { reject } from './errors.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { activate, currentVersionOf, newestOf } from './masterKeyVersions.ts';

export interface RotationOptions {
  readonly pool: Pool;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
  /**
   * If the installation keeps its own master keys: makes the next one of the environment and, once it is durable, adds
   * it to those held. Undefined if an operator provides the keys.
   */
  readonly makeNext: ((environment: Environment) => Promise<MasterKey>) | undefined;
  /** Called when a version has been put to use. */
  readonly onRotated: () => void;
}

interface RotateMasterKeys {
  /** Undefined: every environment whose keys are held here and for which there is a newer one. */
  readonly environment: Environment | undefined;
  readonly actor: string;
  readonly requestId: string;
}

export interface MasterKeyRotation {
  /** Throws `wallets/keys_unavailable`, `wallets/no_newer_master_key`. */
  readonly rotate: (wanted: RotateMasterKeys) => Promise<void>;
}

export function createMasterKeyRotation(options: RotationOptions): MasterKeyRotation {
  let last: Promise<unknown> = Promise.resolve();
  return {
    rotate: (wanted) => {
      // One at a time: two at once would both make the same version, and one of the two keys would be lost.
      const rotated = last.then(() => rotateMasterKeys(options, wanted));
      last = rotated.catch(() => undefined);
      return rotated;
    },
  };
}

async function rotateMasterKeys(
  { pool, masterKeys, clock, makeNext, onRotated }: RotationOptions,
  { environment, actor, requestId }: RotateMasterKeys,
): Promise<void> {
  const wanted = (environment === undefined ? environments.options : [environment]).filter(
    (one) => masterKeys.versionsOf(one).length > 0,
  );
  if (wanted.length === 0) throw reject('wallets/keys_unavailable', environment && { environment });

  let rotated = 0;
  for (const one of wanted) {
    const current = await currentVersionOf(pool, one);
    const newest = newestOf(masterKeys, one);
    // A version made by a rotation that died half-way is put to use before another is made.
    const isNewer = newest !== undefined && newest.version > (current ?? 0);
    const next = isNewer ? newest : await makeNext?.(one);
    if (!next) continue;
    await activate(pool, next, { actor, requestId, at: clock() });
    rotated += 1;
  }
  if (rotated === 0) throw reject('wallets/no_newer_master_key', environment && { environment });
  onRotated();
}
