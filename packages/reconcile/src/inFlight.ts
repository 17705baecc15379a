/** What is in flight between two streams at a place in the log: the cause is there, the effect not yet. */
import { noticedIn, PoisonEventError, type Reaction } from '@coffer/consumers';
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
      try {
        take(event);
      } catch (error) {
        if (!(await isSkipped(event))) throw new PoisonEventError(event, error);
      }
    }
  }
  return [...pending.values()];

  function take(event: RecordedEvent): void {
    const { recordedAt } = event;
    for (const { reaction, completed, cause } of noticedIn(event, reactions)) {
      const { name } = reaction;
      if (completed !== undefined) pending.delete(`${name} ${completed}`);
      if (cause) pending.set(`${name} ${cause.key}`, { reaction: name, subject: cause.key, recordedAt });
    }
  }
}
