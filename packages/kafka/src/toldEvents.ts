/** What webhooks tell, as the relay needs it. */
import type { RecordedEvent } from '@coffer/event-store';

interface ToldPlace {
  readonly appId: string;
  readonly sequence: number;
}

export interface ToldEvent extends ToldPlace {
  readonly environment: 'test' | 'live';
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** What a subscription to everything of the environment is sent. */
  readonly bytesAfter: (previousSequence: number | null) => Buffer;
}

export interface ToldEvents {
  /** The last number of each app that has any. */
  readonly lasts: () => Promise<readonly ToldPlace[]>;
  /** The next events after each place, in the order of their app, at most so many of each. */
  readonly after: (places: readonly ToldPlace[], limit: number) => Promise<readonly ToldEvent[]>;
  /** The ids of the events at these places, by app, as far as they are still kept. */
  readonly idsAt: (places: readonly ToldPlace[]) => Promise<ReadonlyMap<string, string>>;
  /** The event of the log that is told at the place. */
  readonly sourceOf: (place: ToldPlace) => Promise<RecordedEvent>;
}
