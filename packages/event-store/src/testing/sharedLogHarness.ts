/** A store on a log that other clients can write to as well. */
import type { EventToAppend } from '../port.ts';
import type { EventStoreHarness } from './eventStoreHarness.ts';

export interface SharedLogHarness extends Pick<EventStoreHarness, 'store' | 'close'> {
  /** Appends an event to a stream without any of our checks, as another user's client does. */
  writeAsAnother(stream: string, event: EventToAppend): Promise<void>;
}
