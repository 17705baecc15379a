/** What the parts of the contract share, and the specs of adapters with them. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { EventPages, EventStore, EventToAppend, Position, RecordedEvent } from './port.ts';

export interface EventStoreHarness {
  readonly store: EventStore;
  /** Another store on the same log, as another process has it. */
  another(options?: { readonly maxQueuedAppends?: number }): EventStore;
  /** A well-formed position that the log has not reached. */
  readonly positionBeyondEnd: Position;
  /** True for a store that takes no JSON but what `JSON.stringify` writes. */
  readonly refusesOtherJsonTexts?: boolean;
  /** False for a server that answers a repeat as it answers the first: two at once may both be told to be it. */
  readonly tellsSimultaneousRetriesApart?: boolean;
  /** Puts the log back to its first so many events, as the restore of an old backup does. */
  rewindTo(length: number): Promise<void>;
  /** Closes every store it gave and removes the log. */
  close(): Promise<void>;
}

export interface ContractOptions {
  /** False for the log of a server that was there before: it is not empty at first, and cannot be put back. */
  readonly ownsItsLog?: boolean;
}

export type MakeHarness = () => Promise<EventStoreHarness>;

const APP = `app_${'0'.repeat(26)}`;

export const streamName = () => `spec-test.${APP}.${randomUUID()}`;

export function newEvent(fields: Partial<EventToAppend> = {}): EventToAppend {
  return { id: randomUUID(), type: 'Happened', data: '{"what":"this"}', metadata: '{}', ...fields };
}

export const newEvents = (count: number) => Array.from({ length: count }, () => newEvent());

export async function allOf(pages: EventPages): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const page of pages) events.push(...page);
  return events;
}

/** What the promise is rejected with; fails when it is not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('It was accepted.'),
    (reason: unknown) => reason,
  );
}

export const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id);
