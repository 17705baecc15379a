/**
 * Follows the log. A subscription of the client ends on any problem, sometimes silently: this one restarts from the last
 * event delivered, which the log must still hold.
 */
import { messageOf } from '@coffer/kernel';
import { LogRewrittenError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { LogPlace, Position, RecordedEvent, SubscribeOptions, SubscriptionMessage } from '../port.ts';
import type { Clients } from './clients.ts';
import { ANOTHER_LEADS, SilenceError } from './failures.ts';
import { type LiveFeed, openLiveFeed } from './liveFeed.ts';
import type { LogReader } from './logReader.ts';
import { PAGE_SIZE } from './pageFetcher.ts';
import { comparePositions, recordedEvent } from './wire.ts';

export interface SubscriptionDependencies {
  readonly clients: Clients;
  readonly reader: Pick<LogReader, 'head' | 'placeAt'>;
  /** The server confirms a subscription within this time. */
  readonly silenceMs: number;
  /** While nothing arrives, the end of the log is checked this often. */
  readonly watchMs: number;
  /** Called for each problem after which the subscription restarts. */
  readonly onTrouble: (message: string) => void;
}

const RETRY_DELAYS_MS = [50, 100, 250, 500, 1_000, 2_000];

export async function* subscription(
  { clients, reader, silenceMs, watchMs, onTrouble }: SubscriptionDependencies,
  { after, signal, pageSize = PAGE_SIZE, minPageIntervalMs = 0 }: SubscribeOptions,
): AsyncIterable<SubscriptionMessage> {
  /** The last event delivered. */
  let place = after;
  /** Beyond it, how far the server has scanned without finding anything for us: restarting there saves work. */
  let lookedAt: LogPlace | undefined;
  /** The end of the log when we turned out to be behind; undefined before it was asked for. */
  let target: { readonly end: LogPlace | undefined } | undefined;
  let isBehind = true;
  let troubles = 0;

  while (!signal.aborted) {
    try {
      yield* followOnce();
      if (!signal.aborted) onTrouble('The server ended the subscription.');
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LogRewrittenError) throw error;
      onTrouble(messageOf(error));
    }
    await pause(RETRY_DELAYS_MS[Math.min(troubles, RETRY_DELAYS_MS.length - 1)] ?? 0, signal);
    troubles += 1;
  }

  /** One subscription of the client, until it ends or fails. */
  async function* followOnce(): AsyncIterable<SubscriptionMessage> {
    const connection = await clients.current();
    const { client, left } = connection;
    const from = lookedAt ?? place;
    const feed = openLiveFeed(client, from?.position, pageSize);
    signal.addEventListener('abort', feed.wake);
    left.addEventListener('abort', feed.wake);
    try {
      await confirmed(feed, left, signal, silenceMs);
      if (signal.aborted) return;
      // Checked while the subscription is open: replacing the log since it began would have ended it.
      if (place && !(await stillHolds(place))) {
        throw rewrittenAt(place);
      }
      if (lookedAt && !(await stillHolds(lookedAt))) {
        lookedAt = undefined;
        return;
      }
      yield* deliver(feed, left);
    } catch (error) {
      clients.failed(connection, error);
      // A position that the log does not have ends the subscription before it begins.
      if (place && !(error instanceof LogRewrittenError) && !(await isPlausible(place))) {
        throw rewrittenAt(place);
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', feed.wake);
      left.removeEventListener('abort', feed.wake);
      feed.close();
    }
  }

  async function stillHolds({ position, eventId }: LogPlace): Promise<boolean> {
    return (await unlessAborted(reader.placeAt(position), signal))?.eventId === eventId.toLowerCase();
  }

  /** False when the log answers and does not hold the place. */
  async function isPlausible(at: LogPlace): Promise<boolean> {
    try {
      return await stillHolds(at);
    } catch {
      // Unable to check: the subscription's own failure is reported instead.
      return true;
    }
  }

  async function* deliver(feed: LiveFeed, left: AbortSignal): AsyncIterable<SubscriptionMessage> {
    let stalled: { readonly at: LogPlace | undefined } | undefined;
    while (!signal.aborted) {
      const seen = feed.changes();
      const taken = await feed.take(pageSize);
      const events = unseen(
        taken.map(({ event }) => recordedEvent(event)),
        place?.position,
      );
      const isFull = taken.length === pageSize;
      const last = events.at(-1);
      if (last) {
        place = { position: last.position, eventId: last.id };
        lookedAt = undefined;
        troubles = 0;
        yield { kind: 'events', events };
        if (isFull) isBehind = true;
        else if (!isBehind && minPageIntervalMs > 0) await pause(minPageIntervalMs, signal);
      }
      if (isFull || signal.aborted) continue;
      if (isBehind) {
        target ??= { end: await unlessAborted(reader.head(), signal) };
        if (!isBefore(target.end)) {
          isBehind = false;
          target = undefined;
          troubles = 0;
          if (!signal.aborted) yield { kind: 'caughtUp' };
          continue;
        }
      }
      if (taken.length > 0) continue;
      const checkpoint = feed.takeCheckpoint();
      if (checkpoint !== undefined && checkpoint !== place?.position) {
        // How far the server has scanned, with the event there, so that it can be verified.
        lookedAt = (await unlessAborted(reader.placeAt(checkpoint), signal)) ?? lookedAt;
        continue;
      }
      const failure = feed.failure();
      if (failure) throw failure.error;
      if (feed.isEnded()) return;
      if (left.aborted) throw new SilenceError(ANOTHER_LEADS);
      if ((await feed.moreThan(seen, watchMs)) === 'changed') continue;
      // A quiet log is silent, and so is a stuck subscription.
      if (!isBefore(await unlessAborted(reader.head(), signal))) stalled = undefined;
      else if (stalled && stalled.at === place) {
        throw new SilenceError('The log has new events, but the subscription delivers none.');
      } else stalled = { at: place };
    }
  }

  /** Whether the last event delivered stands before the end of the log. */
  function isBefore(end: LogPlace | undefined): boolean {
    return end !== undefined && (!place || comparePositions(place.position, end.position) < 0);
  }
}

/** Returns when the server has confirmed or ended the subscription, or when the reader leaves. */
async function confirmed(
  feed: LiveFeed,
  left: AbortSignal,
  signal: AbortSignal,
  silenceMs: number,
): Promise<void> {
  for (;;) {
    const seen = feed.changes();
    if (feed.isConfirmed() || feed.isEnded() || signal.aborted) return;
    const failure = feed.failure();
    if (failure) throw failure.error;
    if (left.aborted) throw new SilenceError(ANOTHER_LEADS);
    if ((await feed.moreThan(seen, silenceMs)) === 'silence') {
      throw new SilenceError('The server did not confirm the subscription.');
    }
  }
}

/** A server may resend an event near the start: what was delivered is not delivered again. */
function unseen(
  events: readonly (RecordedEvent | undefined)[],
  reached: Position | undefined,
): readonly RecordedEvent[] {
  const ours = events.filter((event) => event !== undefined);
  if (reached === undefined || ours[0] === undefined) return ours;
  if (comparePositions(ours[0].position, reached) > 0) return ours;
  return ours.filter(({ position }) => comparePositions(position, reached) > 0);
}

/** A silent server does not hold up a reader who leaves. Throws when the signal aborts. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

const rewrittenAt = ({ position, eventId }: LogPlace) =>
  new LogRewrittenError(`The log does not hold event ${eventId} at ${position} any longer.`);
