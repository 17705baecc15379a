/** Passes on what webhooks tell, app by app in the order of its numbers, each once: the places go with the messages. */
import { setTimeout as delay } from 'node:timers/promises';
import { PoisonEventError } from '@coffer/consumers';
import { LogRewrittenError } from '@coffer/event-store';
import { z } from 'zod';
import type { BatchLimit } from './batchLimit.ts';
import { unlessAborted } from './client.ts';
import { type Message, toldMessage } from './domain/messages.ts';
import type { TopicNames } from './domain/topics.ts';
import { KafkaFailure } from './failures.ts';
import { type Publisher, TooLargeError } from './publisher.ts';
import type { ToldEvent, ToldEvents } from './toldEvents.ts';

/** How far an app is, with the last number in each environment: whoever reads one topic sees that none is missing. */
const appPlace = z.object({
  sequence: z.int(),
  eventId: z.string(),
  test: z.int().nullable(),
  live: z.int().nullable(),
});
type AppPlace = z.infer<typeof appPlace>;
/** After numbers that are missing, whose environments are not known: the last of them for both, so that readers of both see it. */
type Lasts = Pick<AppPlace, 'test' | 'live'>;
const NOWHERE = { sequence: 0, test: null, live: null };

interface EnvelopesOptions {
  readonly publisher: Publisher;
  /** The first part of the keys of the places. */
  readonly name: string;
  readonly toldEvents: ToldEvents;
  readonly topics: Pick<TopicNames, 'events'>;
  readonly limit: BatchLimit<ToldEvent>;
  readonly signal: AbortSignal;
  readonly fail: (error: unknown) => void;
  readonly onPublished: (count: number) => void;
  /** What the topic will never hold, before what comes after it is published. */
  readonly onMissing: (failure: KafkaFailure) => void;
}

const POLL_MS = 200;
const APPS_AT_ONCE = 50;
const OF_EACH_APP = 200;

/** Ends when the signal aborts, or after `fail`. */
export async function startEnvelopes(options: EnvelopesOptions): Promise<void> {
  const { toldEvents, limit, signal, fail } = options;
  try {
    const places = placesIn(options);
    await refuseOtherEvents(places, toldEvents);
    await toldEvents.keepOnlyAfter([...places].map(([appId, { sequence }]) => ({ appId, sequence })));
    while (!signal.aborted) {
      const behind = (await toldEvents.lasts()).flatMap(({ appId, sequence, prunedSequence }) => {
        const reached = places.get(appId)?.sequence ?? 0;
        if (sequence < reached) throw rewritten(appId);
        return sequence > Math.max(reached, prunedSequence) ? [{ appId, sequence: reached }] : [];
      });
      const told = await toldEvents.after(behind.slice(0, APPS_AT_ONCE), OF_EACH_APP);
      if (told.length === 0) {
        await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
        continue;
      }
      const { page, refused } = limit.split(told);
      if (page.length > 0) await publishPage(page, places);
      if (refused) throw new PoisonEventError(await toldEvents.sourceOf(refused.event), refused.failure);
    }
  } catch (error) {
    if (!signal.aborted) fail(error);
  }

  async function publishPage(events: readonly ToldEvent[], places: Map<string, AppPlace>): Promise<void> {
    const moved = new Map<string, AppPlace>();
    const gaps: string[] = [];
    const messages = events.map((event) => {
      const { appId, sequence } = event;
      const reached = moved.get(appId) ?? places.get(appId) ?? NOWHERE;
      const isNext = sequence === reached.sequence + 1;
      if (!isNext) gaps.push(`${appId}: ${reached.sequence + 1} to ${sequence - 1}`);
      return messageOf(event, isNext ? reached : { test: sequence - 1, live: sequence - 1 }, moved);
    });
    if (gaps.length > 0) options.onMissing(new KafkaFailure('kafka/events_pruned', gaps.join(', ')));
    const reached = new Map(
      [...moved].map(([appId, place]) => [placeKey(options.name, appId), JSON.stringify(place)]),
    );
    try {
      await unlessAborted(options.publisher.publish(messages, reached, limit.mostBytes()), signal);
    } catch (error) {
      if (error instanceof TooLargeError) limit.learn(error, events);
      throw error;
    }
    for (const [appId, place] of moved) places.set(appId, place);
    await toldEvents.passedOn([...moved].map(([appId, { sequence }]) => ({ appId, sequence })));
    options.onPublished(messages.length);
  }

  function messageOf(event: ToldEvent, { test, live }: Lasts, moved: Map<string, AppPlace>): Message {
    const { appId, environment, sequence, eventId } = event;
    moved.set(appId, { test, live, [environment]: sequence, sequence, eventId });
    const previous = environment === 'test' ? test : live;
    return toldMessage({ ...event, bytes: event.bytesAfter(previous) }, options.topics);
  }
}

const placeKey = (name: string, appId: string) => `${name}.${appId}`;

function placesIn({ publisher, name }: EnvelopesOptions): Map<string, AppPlace> {
  const start = placeKey(name, '');
  return new Map(
    [...publisher.places].map(([key, text]) => [key.slice(start.length), appPlace.parse(JSON.parse(text))]),
  );
}

/** After a restore, a number may stand for another event. */
async function refuseOtherEvents(
  places: ReadonlyMap<string, AppPlace>,
  toldEvents: ToldEvents,
): Promise<void> {
  const reached = [...places].map(([appId, { sequence }]) => ({ appId, sequence }));
  for (const [appId, eventId] of await toldEvents.idsAt(reached)) {
    if (places.get(appId)?.eventId !== eventId) throw rewritten(appId);
  }
}

const rewritten = (appId: string) =>
  new LogRewrittenError(`What webhooks tell of ${appId} is not what Kafka has been told of it.`);
