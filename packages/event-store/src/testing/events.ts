/** Events to append, and what was read or refused. */
import { randomUUID } from 'node:crypto';
import type { EventPages, EventToAppend, RecordedEvent } from '../port.ts';

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

export const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id);
