/** What is on its way between two streams at a place of the log: its cause stands there, its effect not yet. */
import type { Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import type { InFlight } from './report.ts';

export interface PendingCause extends InFlight {
  readonly recordedAt: Date;
}

/** The causes among the events whose effects are not among them, in the order of the log. */
export async function causesWithoutEffect(
  reactions: readonly Reaction[],
  pages: AsyncIterable<readonly RecordedEvent[]>,
): Promise<readonly PendingCause[]> {
  const pending = new Map<string, PendingCause>();
  for await (const page of pages) {
    for (const event of page) {
      for (const reaction of reactions) {
        const completed = reaction.effectOf(event);
        if (completed !== undefined) pending.delete(`${reaction.name} ${completed}`);
        const cause = reaction.causeOf(event);
        if (!cause) continue;
        const { name } = reaction;
        pending.set(`${name} ${cause.key}`, {
          reaction: name,
          subject: cause.key,
          recordedAt: event.recordedAt,
        });
      }
    }
  }
  return [...pending.values()];
}
