/**
 * A record of events that a consumer is told to skip: the last resort. A skip is an event in the log, in a stream
 * whose name the consumer derives from the event's own stream, so it applies on every node, in every rebuilt filling
 * and after every restart. It is looked up only when an event cannot be processed.
 */
import type { CommandContext, CommandHandler, EventStore } from '@coffer/event-store';
import { type Environment, environment as environments, fold } from '@coffer/kernel';
import { type Skip, type Skips, skip, skipStreamName, skipStreamOf } from './domain/skip.ts';
import { reject } from './errors.ts';

/** The event at which a consumer has stopped. */
interface EventToBlame {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
}

interface StoppedConsumer {
  readonly name: string;
  readonly stopped: { readonly event: EventToBlame | undefined } | undefined;
}

export interface SkipsDependencies {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'heads' | 'readStream'>;
  readonly clock: () => Date;
  /** All known consumers, from the database. */
  readonly consumers: () => Promise<readonly StoppedConsumer[]>;
  /** Every existing app and scope. */
  readonly owners: () => Promise<readonly string[]>;
  /** Consumers that accept everything or prove nothing. */
  readonly neverSkip: readonly string[];
}

export interface SkipRequest {
  readonly consumer: string;
  readonly eventId: string;
  readonly reason: string;
}

const HEADS_PER_QUESTION = 256;

export type EventSkips = ReturnType<typeof createSkips>;

export function createSkips({ handler, store, clock, consumers, owners, neverSkip }: SkipsDependencies) {
  async function skipsIn(stream: string): Promise<Skips> {
    let skips = skip.initialState;
    for await (const page of store.readStream(stream)) skips = fold(skip, skips, page);
    return skips;
  }

  const isSkipped = async (
    consumer: string,
    event: Pick<EventToBlame, 'id' | 'stream'>,
  ): Promise<boolean> => {
    const stream = skipStreamOf(consumer, event.stream);
    return stream !== undefined && (await skipsIn(stream)).has(event.id);
  };

  /** For an event whose stream is no longer known because its consumer has moved on. */
  async function standingSkip(consumer: string, eventId: string): Promise<Skip | undefined> {
    const places = (await owners()).flatMap((owner) =>
      environments.options.map((environment) => ({ environment, owner, consumer })),
    );
    for (const stream of await thatExist(places.map(skipStreamName))) {
      const found = (await skipsIn(stream)).get(eventId);
      if (found) return found;
    }
    return undefined;
  }

  /** Of thousands of streams hardly any exist: asking about many costs as much as reading one. */
  async function thatExist(streams: readonly string[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (let from = 0; from < streams.length; from += HEADS_PER_QUESTION) {
      const asked = streams.slice(from, from + HEADS_PER_QUESTION);
      const heads = await store.heads(asked);
      found.push(...asked.filter((_stream, index) => heads[index] !== undefined));
    }
    return found;
  }

  return {
    isSkipped,

    /** For all consumers, in the streams of these owners. */
    async standing(environment: Environment, ownersOfThese: readonly string[]): Promise<readonly Skip[]> {
      const streams = (await consumers()).flatMap(({ name: consumer }) =>
        ownersOfThese.map((owner) => skipStreamName({ environment, owner, consumer })),
      );
      const found: Skip[] = [];
      for (const stream of await thatExist(streams)) found.push(...(await skipsIn(stream)).values());
      return found;
    },

    /**
     * Idempotent. Throws `portal/consumer_not_found`, `portal/consumer_not_skippable`, `portal/already_skipped`,
     * `portal/not_stopped_there`.
     */
    async skip(
      { consumer: name, eventId, reason }: SkipRequest,
      context: CommandContext,
    ): Promise<{ readonly answer: Skip; readonly replayed: boolean }> {
      const consumer = (await consumers()).find((one) => one.name === name);
      if (!consumer) throw reject('portal/consumer_not_found', { consumer: name });
      if (neverSkip.includes(name)) throw reject('portal/consumer_not_skippable', { consumer: name });

      const at = consumer.stopped?.event;
      const stream = at && skipStreamOf(name, at.stream);
      if (!at || at.id !== eventId || stream === undefined) {
        // A repeat after the consumer has moved on gets the same answer.
        const standing = await standingSkip(name, eventId);
        if (standing?.reason === reason) return { answer: standing, replayed: true };
        if (standing) throw reject('portal/already_skipped', { eventId, reason: standing.reason });
        throw reject('portal/not_stopped_there', {
          consumer: name,
          eventId,
          stoppedAt: at ? { ...at } : null,
        });
      }
      const { revision, type: eventType } = at;
      const command = { type: 'SkipEvent', consumer: name, eventId, reason, revision, eventType } as const;
      const { answer, replayed } = await handler.execute(
        skip,
        stream,
        { ...command, stream: at.stream, at: clock() },
        context,
      );
      return { answer, replayed };
    },
  };
}
