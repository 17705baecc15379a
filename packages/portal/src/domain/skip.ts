/**
 * What an operator has told a consumer to pass over: for each consumer, in each environment, the events of one owner.
 * Nothing here says that a consumer is stopped at such an event: whoever sends the command has looked.
 */
import {
  type Decision,
  type Environment,
  parseStreamName,
  type StreamType,
  streamName,
} from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type SkipEvent, skipEvents } from './skip.events.ts';

const CATEGORY = 'skip';

/** Whose events are skipped: the app's or the scope's, as their streams say. */
export interface SkipPlace {
  readonly environment: Environment;
  readonly owner: string;
  readonly consumer: string;
}

export const skipStreamName = ({ environment, owner, consumer }: SkipPlace): string =>
  streamName(CATEGORY, environment, owner, consumer);

/** Where a skip of an event of this stream stands; undefined for a stream that is none of ours. */
export function skipStreamOf(consumer: string, stream: string): string | undefined {
  const parts = parseStreamName(stream);
  return parts && skipStreamName({ ...parts, consumer });
}

export type Skip = SkipEvent['data'];

export interface SkipCommand extends Omit<Skip, 'skippedAt'> {
  readonly type: 'SkipEvent';
  readonly at: Date;
}

/** By the id of the event. There are few, or something is very wrong. */
export type Skips = ReadonlyMap<string, Skip>;

function decide(skips: Skips, command: SkipCommand): Decision<SkipEvent, Skip> {
  const { consumer, eventId, stream, revision, eventType, reason, at } = command;
  const standing = skips.get(eventId);
  if (standing?.reason === reason) return { events: [], answer: standing, replayed: true };
  if (standing) throw reject('portal/already_skipped', { eventId, reason: standing.reason });

  // In the order of the schema, in which a repeat is answered.
  const data = { consumer, eventId, stream, revision, eventType, reason, skippedAt: at.toISOString() };
  return { events: [{ type: 'EventSkipped', data }], answer: data };
}

export const skip: StreamType<SkipCommand, SkipEvent, Skips, Skip> = {
  category: CATEGORY,
  version: 1,
  codec: skipEvents,
  initialState: new Map(),
  decide,
  evolve: (skips, { data }) => new Map(skips).set(data.eventId, data),
  sizeOf: (skips) => 200 + skips.size * 600,
};
