/** The current slot: by a clock, or advanced by hand. A slot in which nothing happens costs nothing. */

/** Where the virtual machine's programs begin to exist. */
export const FIRST_SLOT = 447_552_000n;
/** Its block is before all others, and empty. None of the slots between it and the first has a block. */
export const GENESIS_SLOT = 0n;
/** As on a cluster, slots without a block made the two differ: nobody can mistake one for the other. */
const SLOTS_WITHOUT_BLOCK = 25_000_000n;
export const SLOTS_PER_EPOCH = 432_000n;

export const heightOf = (slot: bigint) => (slot === GENESIS_SLOT ? 0n : slot - SLOTS_WITHOUT_BLOCK);
export const parentOf = (slot: bigint) => (slot > FIRST_SLOT ? slot - 1n : GENESIS_SLOT);

export interface Slots {
  readonly now: () => bigint;
}

/** A clock that nobody can set back counts from where the chain is. */
export function slotsOfClock(start: bigint, slotMs: number): Slots {
  const startMs = performance.now();
  return { now: () => start + BigInt(Math.floor((performance.now() - startMs) / slotMs)) };
}

export function slotsByHand(start: bigint): Slots & { readonly advance: (slots: number) => void } {
  let slot = start;
  return {
    now: () => slot,
    advance(slots) {
      slot += BigInt(slots);
    },
  };
}
