/**
 * When each slot was. It follows from marks that are kept, so a slot is told the same time for ever: also an empty one,
 * and after a restart.
 */

/** From this slot on each takes `slotMs`, until the next mark. */
export interface TimeMark {
  readonly slot: bigint;
  readonly atMs: number;
  /** 0 where slots are moved by hand. */
  readonly slotMs: number;
}

/** By so much the slots may be behind the machine's clock: they stand still while it sleeps. */
const TOLERATED_MS = 1000;

export interface BlockTimeOptions {
  /** The oldest first. */
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
    // A clock that was set back does not take the chain with it.
    const added = { slot, atMs: Math.max(Date.now(), msAt(slot - 1n)), slotMs };
    known.push(added);
    keep(added);
    newest = slot;
  };
  return {
    mark,
    /** Before anyone is told of the slot. */
    see(slot: bigint): void {
      if (slot <= newest) return;
      newest = slot;
      if (Date.now() - msAt(slot) > TOLERATED_MS) mark(slot);
    },
    secondsAt: (slot: bigint) => Math.floor(msAt(slot) / 1000),
  };
}
