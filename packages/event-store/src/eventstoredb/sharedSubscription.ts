/**
 * Several consumers follow the log in one process. Each reads by itself until it has caught up; from then on they share
 * one subscription, so that an event arrives and is decoded once. The first to catch up gives its own.
 *
 * Nobody waits for a slow consumer: the latest events are kept, and whoever falls behind them reads by itself again,
 * from its own place, which the log must still hold.
 */
import { pause } from '../pause.ts';
import type { SubscribeOptions, SubscriptionMessage } from '../port.ts';
import { PAGE_SIZE } from './pageFetcher.ts';
import { beginTrunk, changed, countUpTo, covers, endTrunk, type Trunk } from './trunk.ts';

export type Follow = (options: SubscribeOptions) => AsyncIterable<SubscriptionMessage>;

/** At some 1 KiB each. */
const MAX_KEPT = 8_192;

/** `maxKept`: how far behind the others a consumer may be and still share. */
export function shareSubscription(follow: Follow, maxKept = MAX_KEPT): Follow {
  let trunk: Trunk | undefined;

  return async function* shared(options: SubscribeOptions): AsyncIterable<SubscriptionMessage> {
    const { signal, pageSize = PAGE_SIZE, minPageIntervalMs = 0 } = options;
    let place = options.after;
    /** Whether it has told that it is at the end, and has not fallen behind since. */
    let isLive = false;
    while (!signal.aborted) {
      const joined = yield* readAlone();
      if (joined) yield* readTogether(joined);
      else return;
    }

    function take(message: SubscriptionMessage, isFull: boolean): void {
      if (message.kind === 'caughtUp') isLive = true;
      else {
        const last = message.events.at(-1);
        if (last) place = { position: last.position, eventId: last.id };
        if (isFull) isLive = false;
      }
    }

    /** Until it has caught up with the others; undefined if it has ended. */
    async function* readAlone(): AsyncGenerator<SubscriptionMessage, Trunk | undefined> {
      const ending = new AbortController();
      const end = () => ending.abort();
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      const messages = follow({ ...options, after: place, signal: ending.signal, minPageIntervalMs: 0 })[
        Symbol.asyncIterator
      ]();
      let isGiven = false;
      try {
        for (;;) {
          const next = await messages.next();
          if (next.done) return undefined;
          const message = next.value;
          const isFull = message.kind === 'events' && message.events.length >= pageSize;
          const wasLive = isLive;
          take(message, isFull);
          // One that comes back has been told already.
          if (message.kind === 'events' || !wasLive) yield message;
          if (signal.aborted) return undefined;
          if (!isLive) continue;
          if (!trunk || trunk.hasEnded) {
            isGiven = true;
            trunk = beginTrunk(messages, ending, pageSize, place?.position, maxKept);
          } else if (!covers(trunk, place?.position)) {
            if (message.kind === 'events' && minPageIntervalMs > 0) await pause(minPageIntervalMs, signal);
            continue;
          }
          return trunk;
        }
      } finally {
        signal.removeEventListener('abort', end);
        if (!isGiven) {
          end();
          await messages.return?.();
        }
      }
    }

    /** Until the consumer ends or falls off, or the trunk ends. */
    async function* readTogether(common: Trunk): AsyncGenerator<SubscriptionMessage, void> {
      const me = {};
      common.cursors.set(me, common.first + countUpTo(common.kept, place?.position));
      const wake = () => changed(common);
      wake();
      signal.addEventListener('abort', wake);
      try {
        while (!signal.aborted) {
          const at = common.cursors.get(me) ?? 0;
          if (at < common.first) {
            isLive = false;
            return;
          }
          const seen = common.change.promise;
          const from = at - common.first;
          const page = common.kept.slice(from, from + pageSize);
          if (page.length > 0) {
            common.cursors.set(me, at + page.length);
            changed(common);
            // Who was ahead of the others when it joined them has taken the first of these already.
            const events = page.slice(countUpTo(page, place?.position));
            if (events.length === 0) continue;
            const message = { kind: 'events', events } as const;
            const isFull = page.length === pageSize;
            take(message, isFull);
            yield message;
            if (!isFull && isLive && minPageIntervalMs > 0) await pause(minPageIntervalMs, signal);
          } else if (common.hasEnded) return;
          else if (!isLive && common.isLive) {
            isLive = true;
            yield { kind: 'caughtUp' };
          } else await seen;
        }
      } finally {
        signal.removeEventListener('abort', wake);
        common.cursors.delete(me);
        changed(common);
        if (common.cursors.size === 0) await endTrunk(common);
      }
    }
  };
}
