/** Appends repeated until they are acknowledged, and a check that the log holds them. */
import { setTimeout as delay } from 'node:timers/promises';
import { OutcomeUnknownError, StoreUnreachableError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, EventStore, RecordedEvent } from '../port.ts';
import { newEvents } from './events.ts';

const RETRY_MS = 5;

export interface Acknowledged {
  readonly request: AppendRequest;
  readonly result: AppendResult;
}

/** Like the command handler: the same request until its outcome is known, a new one after a conflict. */
export async function appendUntilKnown(
  store: EventStore,
  place: { readonly stream: string; last: number },
  count: number,
): Promise<Acknowledged> {
  for (;;) {
    const request: AppendRequest = {
      stream: place.stream,
      expectedRevision: place.last < 0 ? 'noStream' : place.last,
      events: newEvents(count),
    };
    for (;;) {
      try {
        const result = await store.append(request);
        place.last = result.revision;
        return { request, result };
      } catch (error) {
        if (error instanceof WrongExpectedRevisionError) {
          place.last = error.actual ?? -1;
          break;
        }
        if (!(error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError)) throw error;
        await delay(RETRY_MS);
      }
    }
  }
}

/** Every difference between the log and what was acknowledged; empty when there is none. */
export function faultsIn(events: readonly RecordedEvent[], acknowledged: readonly Acknowledged[]): string[] {
  const found: string[] = [];
  const byId = new Map<string, RecordedEvent>();
  for (const event of events) {
    if (byId.has(event.id)) found.push(`Event ${event.id} is in the log twice.`);
    byId.set(event.id, event);
  }
  let sent = 0;
  for (const { request, result } of acknowledged) {
    sent += request.events.length;
    request.events.forEach(({ id }, index) => {
      const event = byId.get(id);
      const revision = result.revision - (request.events.length - 1 - index);
      if (event?.stream !== request.stream || event.revision !== revision) {
        found.push(`Event ${id} was acknowledged at ${request.stream} ${revision} but is not there.`);
      }
    });
  }
  // What was given up after a conflict was never written.
  if (sent !== events.length)
    found.push(`${sent} events were acknowledged, ${events.length} are in the log.`);
  return found;
}
