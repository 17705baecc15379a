/** The way to the head of a log that grows meanwhile. ADR 0065. */
import type { Checkpoint, HeldProjections } from '@coffer/consumers';
import type { Pace } from './pace.ts';

export interface ApproachOptions {
  readonly signal: AbortSignal;
  /** Called with the number of events taken and the total. */
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
  /** Default: as fast as it can. */
  readonly pace?: Pace;
}

/** So near the head that what is still to come is taken at once. */
const FEW_EVENTS = 10_000;

/**
 * Brings the fold near the head; or as near as it comes, if that is faster. A run that nobody waits for does not come nearer to the head of a log
 * that grows faster than it goes: it goes on at its pace until it is late.
 */
export async function approach(
  held: Pick<HeldProjections, 'checkpoint' | 'advance'>,
  headReached: () => Promise<Checkpoint | undefined>,
  { signal, onProgress, pace }: ApproachOptions,
): Promise<void> {
  const isUnhurried = () => pace?.isUnhurried() ?? false;
  let left = Number.POSITIVE_INFINITY;
  for (let isNear = false; !isNear; ) {
    const target = await headReached();
    const of = target?.ordinal ?? 0;
    const before = left;
    left = of - (held.checkpoint()?.ordinal ?? 0);
    const hasTime = isUnhurried() && !pace?.isLate();
    isNear = left < FEW_EVENTS || (left >= before && !hasTime);
    await held.advance(target, {
      signal,
      async onProgress(done) {
        onProgress?.({ done, of });
        await pace?.rest(signal);
      },
      isUnhurried,
    });
  }
}
