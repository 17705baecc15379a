/**
 * What an operator has told a consumer to skip: for each consumer, in each environment, the events of one owner.
 * Nothing here proves that a consumer is stopped at such an event: the sender of the command has checked.
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

/** The owner of the skipped events: the app or the scope, as in their stream names. */
export interface SkipPlace {
  readonly environment: Environment;
  readonly owner: string;
  readonly consumer: string;
}

export const skipStreamName = ({ environment, owner, consumer }: SkipPlace): string =>
  streamName(CATEGORY, environment, owner, consumer);

/** The stream for skips of this stream's events; undefined for a stream that is not ours. */
export function skipStreamOf(consumer: string, stream: string): string | undefined {
  const parts = parseStreamName(stream);
  return parts && skipStreamName({ ...parts, consumer });
}

export type Skip = SkipEvent['data'];

export interface SkipCommand extends Omit<Skip, 'skippedAt'> {
  readonly type: 'SkipEvent';
  readonly at: Date;
}

/** By event id. There are few, unless something is very wrong. */
export type Skips = ReadonlyMap<string, Skip>;

function decide(skips: Skips, command: SkipCommand): Decision<SkipEvent, Skip> {
  const { consumer, eventId, stream, revision, eventType, reason, at } = command;
  const standing = skips.get(eventId);
  if (standing?.reason === reason) return { events: [], answer: standing, replayed: true };
  if (standing) throw reject('portal/already_skipped', { eventId, reason: standing.reason });

  // In the schema's order, which a repeated answer must have.
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
