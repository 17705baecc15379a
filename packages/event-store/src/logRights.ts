/**
 * What the log's user may and may not do. It writes nothing: its append requires a stream that nobody ever creates, so a
 * server that would allow the write answers that the stream does not exist.
 */
import { randomUUID } from 'node:crypto';
import { newId } from '@coffer/kernel';
import { StoreRefusedError, WrongExpectedRevisionError } from './errors.ts';
import type { EventStore } from './port.ts';

export interface LogRight {
  readonly right: string;
  readonly given: boolean;
  /** For a missing permission: the server's message, and how to grant it. */
  readonly reason: string;
}

/** Named like one of our streams, so that the same rules apply to it. */
const NO_STREAM = `playSession-test.${newId('app')}.none`;

/** Rethrows any failure of the store other than a refusal. */
export async function logRights(
  store: Pick<EventStore, 'head' | 'heads' | 'append'>,
): Promise<readonly LogRight[]> {
  return [
    await rightTo('read the log as a whole', () => store.head()),
    await rightTo('read a stream', () => store.heads([NO_STREAM])),
    await rightTo('append to a stream', () => appendNothing(store)),
  ];
}

async function rightTo(right: string, use: () => Promise<unknown>): Promise<LogRight> {
  try {
    await use();
    return { right, given: true, reason: '' };
  } catch (error) {
    if (!(error instanceof StoreRefusedError)) throw error;
    return { right, given: false, reason: error.message };
  }
}

async function appendNothing(store: Pick<EventStore, 'append'>): Promise<void> {
  const event = { id: randomUUID(), type: 'LogChecked', data: '{}', metadata: '{}' };
  try {
    await store.append({ stream: NO_STREAM, expectedRevision: 'streamExists', events: [event] });
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error;
  }
}
