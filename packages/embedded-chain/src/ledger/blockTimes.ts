/**
 * When each slot was. Derived from stored marks, so a slot has the same time for ever, even an empty one and after a
 * restart.
 */

/** From this slot on each takes `slotMs`, until the next mark. */
export interface TimeMark {
  readonly slot: bigint;
  readonly atMs: number;
  /** 0 if slots are advanced by hand. */
  readonly slotMs: number;
}

/** How far the slots may be behind the machine's clock: they do not advance while it sleeps. */
const TOLERATED_MS = 1000;

export interface BlockTimeOptions {
  /** Oldest first. */
  readonly marks: readonly TimeMark[];
  readonly slotMs: number;
  readonly keep: (mark: TimeMark) => void;
}

export function createBlockTimes({ marks, slotMs, keep }: BlockTimeOptions) {
  const known = [...marks];
  let newest = 0n;

  const msAt = (slot: bigint): number => {
    const mark = known.findLast((other) => other.slot <= slot) ?? known[0];
    return mark ? mark.atMs + Number(slot - mark.slot) * mark.slotMs : 0;
  };
  const mark = (slot: bigint) => {
    // A clock that is set back does not take the chain with it.
    const added = { slot, atMs: Math.max(Date.now(), msAt(slot - 1n)), slotMs };
    known.push(added);
    keep(added);
    newest = slot;
  };
  return {
    mark,
    /** Called before anyone is told of the slot. */
    see(slot: bigint): void {
      if (slot <= newest) return;
      newest = slot;
      if (Date.now() - msAt(slot) > TOLERATED_MS) mark(slot);
    },
    secondsAt: (slot: bigint) => Math.floor(msAt(slot) / 1000),
  };
}
