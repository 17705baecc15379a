/** What is in flight between two streams at a place in the log: the cause is there, the effect not yet. */
import { PoisonEventError, type Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import type { InFlight } from './report.ts';

export interface PendingCause extends InFlight {
  readonly recordedAt: Date;
}

/**
 * The causes among the events whose effects are not among them, in the order of the log. Throws
 * `PoisonEventError` on an event that the process cannot take either.
 */
export async function causesWithoutEffect(
  reactions: readonly Reaction[],
  pages: AsyncIterable<readonly RecordedEvent[]>,
  isSkipped: (event: RecordedEvent) => Promise<boolean> = async () => false,
): Promise<readonly PendingCause[]> {
  const pending = new Map<string, PendingCause>();
  for await (const page of pages) {
    for (const event of page) {
      for (const { name, completed, cause } of await noticedIn(event)) {
        if (completed !== undefined) pending.delete(`${name} ${completed}`);
        if (!cause) continue;
        pending.set(`${name} ${cause.key}`, {
          reaction: name,
          subject: cause.key,
          recordedAt: event.recordedAt,
        });
      }
    }
  }
  return [...pending.values()];

  /** Ignores an event that the process is told to skip. */
  async function noticedIn(event: RecordedEvent) {
    try {
      return reactions.map((reaction) => ({
        name: reaction.name,
        completed: reaction.effectOf(event),
        cause: reaction.causeOf(event),
      }));
    } catch (error) {
      if (await isSkipped(event)) return [];
      throw new PoisonEventError(event, error);
    }
  }
}
