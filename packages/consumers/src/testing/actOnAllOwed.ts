import type { RecordedEvent } from '@coffer/event-store';
import type { Reaction } from '../reaction.ts';

/** Acts once on every cause in the log that has no effect yet; returns how many there were. */
export async function actOnAllOwed(
  log: readonly RecordedEvent[],
  reactions: readonly Reaction[],
): Promise<number> {
  let acts = 0;
  for (const reaction of reactions) {
    const owed = new Map<string, RecordedEvent>();
    for (const event of log) {
      const effect = reaction.effectOf(event);
      if (effect !== undefined) owed.delete(effect);
      const cause = reaction.causeOf(event);
      if (cause) owed.set(cause.key, event);
    }
    for (const cause of owed.values()) {
      await reaction.act(cause, new AbortController().signal);
      acts += 1;
    }
  }
  return acts;
}
