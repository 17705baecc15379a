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
  /** Of each app that has any numbers: the last, and the last whose event is no longer kept. */
  readonly lasts: () => Promise<readonly (ToldPlace & { readonly prunedSequence: number })[]>;
  /** The next events after each place, in the order of their app, at most so many of each. */
  readonly after: (places: readonly ToldPlace[], limit: number) => Promise<readonly ToldEvent[]>;
  /** The ids of the events at these places, by app, as far as they are still kept. */
  readonly idsAt: (places: readonly ToldPlace[]) => Promise<ReadonlyMap<string, string>>;
  /** What comes after these places is to be kept, and all of every other app. */
  readonly keepOnlyAfter: (places: readonly ToldPlace[]) => Promise<void>;
  /** Up to these places nothing need be kept any longer. */
  readonly passedOn: (places: readonly ToldPlace[]) => Promise<void>;
  /** The event of the log that is told at the place. */
  readonly sourceOf: (place: ToldPlace) => Promise<RecordedEvent>;
}
