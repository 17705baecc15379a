/** A store on a log that other clients can write to as well. */
import type { EventToAppend } from '../port.ts';
import type { EventStoreHarness } from './eventStoreHarness.ts';

export interface SharedLogHarness extends Pick<EventStoreHarness, 'store' | 'close'> {
  /** Puts an event at the end of a stream past every check of ours, as another user's client does. */
  writeAsAnother(stream: string, event: EventToAppend): Promise<void>;
}
