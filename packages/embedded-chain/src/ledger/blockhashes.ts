/**
 * The blockhash of each slot. Derived from the chain's genesis, the slot and how often the slot was forked away, so
 * none is stored: those of 151 blocks are known again after a restart.
 */
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';

/** A transaction may be in the 150 blocks after the one whose hash it names. */
export const MAXIMUM_BLOCKHASH_AGE = 150n;

/** How many are known: lagging nodes and late landings ask for older ones. */
const KNOWN_SLOTS = 256n;

export interface Fork {
  readonly firstSlot: bigint;
  readonly lastSlot: bigint;
}

export function createBlockhashes(genesis: Uint8Array, forks: readonly Fork[]) {
  const known: Fork[] = [...forks];
  /** Slots up to `computedUpto`, oldest first. */
  const slotOf = new Map<string, bigint>();
  let computedUpto = 0n;

  const at = (slot: bigint): string => {
    const times = known.filter(({ firstSlot, lastSlot }) => slot >= firstSlot && slot <= lastSlot).length;
    return encodeBase58(createHash('sha256').update(genesis).update(`block ${slot} ${times}`).digest());
  };
  const computeUpto = (tip: bigint) => {
    const oldest = tip - KNOWN_SLOTS;
    for (let slot = computedUpto < oldest ? oldest : computedUpto + 1n; slot <= tip; slot += 1n) {
      slotOf.set(at(slot), slot);
    }
    for (const [hash, slot] of slotOf) {
      if (slot >= oldest) break;
      slotOf.delete(hash);
    }
    if (tip > computedUpto) computedUpto = tip;
  };
  return {
    at,
    /** Whether a transaction with it may be in the block of `slot`; that block must be able to know it. */
    isUsable(hash: string, slot: bigint, tip: bigint): boolean {
      computeUpto(tip);
      const found = slotOf.get(hash);
      return found !== undefined && found <= slot && slot - found <= MAXIMUM_BLOCKHASH_AGE;
    },
    fork(fork: Fork): void {
      known.push(fork);
      slotOf.clear();
      computedUpto = 0n;
    },
  };
}
