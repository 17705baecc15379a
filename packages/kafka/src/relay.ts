/**
 * The reader of the log that publishes. Any number of processes may start it: one of them reads at a time. The lease says
 * which; that each event is published once does not depend on it, but on Kafka: the place is committed with the events,
 * and whoever begins ends every right of the one before, then reads the place that was committed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Checkpoint,
  type Consumer,
  type ConsumerOptions,
  type ConsumerWork,
  checkpointAt,
  PoisonEventError,
  type RunningWork,
  type Session,
  startConsumer,
} from '@coffer/consumers';
import type { Position, RecordedEvent } from '@coffer/event-store';
import { z } from 'zod';
import { createBatchLimit } from './batchLimit.ts';
import { createClient, unlessAborted } from './client.ts';
import { factMessage, type Message } from './domain/messages.ts';
import { topicNames } from './domain/topics.ts';
import { startEnvelopes } from './envelopes.ts';
import { KafkaFailure } from './failures.ts';
import { openPublisher, type Publisher, TooLargeError } from './publisher.ts';
import type { KafkaSettings } from './settings.ts';
import type { ToldEvent, ToldEvents } from './toldEvents.ts';
import { openTopics } from './topics.ts';

export const KAFKA_CONSUMER = { schema: 'records', name: 'kafka' } as const;

/** For metrics. */
export interface RelayObserver {
  readonly onConnected: () => void;
  readonly onPublished: (what: 'facts' | 'envelopes', count: number) => void;
  readonly onFailure: (failure: KafkaFailure) => void;
}

export interface RelayOptions extends Omit<ConsumerOptions, 'schema' | 'name' | 'work'> {
  readonly settings: KafkaSettings;
  readonly toldEvents: ToldEvents;
  readonly observer?: RelayObserver;
}

/** Events in one transaction, each of which costs several requests. */
export const PAGE_SIZE = 4_000;
/** The least time between transactions: each takes a broker milliseconds, however little is in it. */
const PAGE_INTERVAL_MS = 250;

/** Of what a broker knows when it starts. */
const MOST_LOADING_MS = 30_000;
const LOADING_PAUSE_MS = 100;

const NOBODY: RelayObserver = { onConnected() {}, onPublished() {}, onFailure() {} };

export function startRelay({ settings, toldEvents, observer = NOBODY, ...shared }: RelayOptions): Consumer {
  const work = relaying(settings, toldEvents, observer);
  const consumer = startConsumer({
    pageSize: PAGE_SIZE,
    minPageIntervalMs: PAGE_INTERVAL_MS,
    ...shared,
    ...KAFKA_CONSUMER,
    work,
  });
  return {
    status: consumer.status,
    isBehind: consumer.isBehind,
    async stop() {
      await consumer.stop();
      await work.close();
    },
  };
}

interface Opened {
  readonly facts: Publisher;
  readonly envelopes: Publisher;
}

function relaying(
  settings: KafkaSettings,
  toldEvents: ToldEvents,
  observer: RelayObserver,
): ConsumerWork & { readonly close: () => Promise<void> } {
  const names = topicNames(settings.topicPrefix);
  const factsId = `${settings.topicPrefix}.relay`;
  const envelopesId = `${settings.topicPrefix}.envelope-relay`;
  let opened: Opened | undefined;
  const factsLimit = createBatchLimit<RecordedEvent>(({ stream, revision }) => `${revision} of ${stream}`);
  const envelopesLimit = createBatchLimit<ToldEvent>(({ appId, sequence }) => `${sequence} of ${appId}`);

  return { resume, begin, close };

  async function close(): Promise<void> {
    const publishers = opened;
    opened = undefined;
    await Promise.all([publishers?.facts.close(), publishers?.envelopes.close()]);
  }

  async function resume(signal: AbortSignal): Promise<Checkpoint | undefined> {
    await close();
    const opening = openOnceLoaded(signal);
    try {
      opened = await unlessAborted(opening, signal);
    } catch (error) {
      // It may still open, with nobody left to use it.
      opening.then(closeBoth, () => undefined);
      throw observed(error);
    }
    observer.onConnected();
    return placeIn(opened.facts.places.get(placeKey(factsId)));
  }

  /** A broker that has just started refuses for a moment: nobody need be told. */
  async function openOnceLoaded(signal: AbortSignal): Promise<Opened> {
    const untilMs = performance.now() + MOST_LOADING_MS;
    for (;;) {
      try {
        return await open();
      } catch (error) {
        const isLoading = error instanceof KafkaFailure && error.code === 'kafka/loading';
        if (!isLoading || performance.now() > untilMs) throw error;
        await delay(LOADING_PAUSE_MS, undefined, { signal });
      }
    }
  }

  async function open(): Promise<Opened> {
    const kafka = await createClient(settings);
    const topics = await openTopics(kafka, settings, names.places);
    const common = { kafka, topics, placesTopic: names.places };
    // Together: neither reads past what a former relay left open under the other's id, and only the other one ends that.
    const opening = [
      openPublisher({ ...common, name: factsId }),
      openPublisher({ ...common, name: envelopesId }),
    ] as const;
    try {
      const [facts, envelopes] = await Promise.all(opening);
      return { facts, envelopes };
    } catch (error) {
      const settled = await Promise.allSettled(opening);
      await Promise.all(settled.map((one) => one.status === 'fulfilled' && one.value.close()));
      throw error;
    }
  }

  function begin({ place: from, signal, save, pool, fail, onTrouble }: Session): RunningWork {
    if (!opened) throw new Error('The relay begins before it has resumed.');
    const { facts, envelopes } = opened;
    let place = from;
    const passingOn = startEnvelopes({
      publisher: envelopes,
      name: envelopesId,
      toldEvents,
      topics: names,
      limit: envelopesLimit,
      signal,
      fail: (error) => fail(observed(error)),
      onPublished: (count) => observer.onPublished('envelopes', count),
      onMissing: (failure) => onTrouble(observed(failure)),
    });
    return {
      async take(events) {
        const { page, refused } = factsLimit.split(events);
        await publishPage(page);
        if (refused && !signal.aborted) throw new PoisonEventError(refused.event, refused.failure);
      },
      caughtUp() {},
      async end() {
        await passingOn;
        await close();
      },
      async saveLast() {},
      pending: () => undefined,
    };

    async function publishPage(events: readonly RecordedEvent[]): Promise<void> {
      const last = events.at(-1);
      if (!last) return;
      const before = place?.ordinal ?? 0;
      const reached = checkpointAt(last, before + events.length);
      const messages = events.map((event, index) => messageOf(event, before + index + 1));
      const places = new Map([[placeKey(factsId), JSON.stringify(reached)]]);
      try {
        await unlessAborted(facts.publish(messages, places, factsLimit.mostBytes()), signal);
      } catch (error) {
        // Committed or not: whoever resumes reads which.
        if (signal.aborted) return;
        if (error instanceof TooLargeError) factsLimit.learn(error, events);
        throw observed(error);
      }
      await save(pool, place, reached);
      place = reached;
      observer.onPublished('facts', events.length);
    }
  }

  function messageOf(event: RecordedEvent, ordinal: number): Message {
    try {
      return factMessage(event, ordinal, names);
    } catch (error) {
      throw new PoisonEventError(event, error);
    }
  }

  function observed(error: unknown): unknown {
    if (error instanceof KafkaFailure) observer.onFailure(error);
    return error;
  }
}

const closeBoth = ({ facts, envelopes }: Opened) => Promise.all([facts.close(), envelopes.close()]);

const placeKey = (name: string) => `${name}.log`;

const storedPlace = z.object({ position: z.string(), eventId: z.string(), ordinal: z.int() });

function placeIn(text: string | undefined): Checkpoint | undefined {
  if (text === undefined) return undefined;
  const { position, ...place } = storedPlace.parse(JSON.parse(text));
  // The store issued this text as a position when the place was committed.
  return { ...place, position: position as Position };
}
