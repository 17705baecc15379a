/** Reads an app's events in order, instead of receiving them. Source: docs/webhooks.md, Reading instead of receiving. */
import type { Fields } from './answers.ts';
import { CofferError } from './cofferError.ts';
import type { Signal } from './platform.ts';
import type { RetryPolicy } from './retry.ts';
import { type Call, queryOf, readBody } from './transport.ts';
import { type AppEvent, readAppEvent, type WebhookEventType } from './webhookEvents.ts';

export interface FeedOptions {
  /** The sequence of the last event that you have dealt with. Default 0: from the first. */
  readonly after?: number;
  /** Default: all of them. Then `previousSequence` is the number before it of one of these types. */
  readonly types?: readonly WebhookEventType[];
  /** How long a request waits for the next event, at most 30. Default 25. */
  readonly waitSeconds?: number;
  /** Ends the reading, which then rejects with the signal's reason. */
  readonly signal?: Signal;
}

export interface FeedClient {
  /**
   * Every event of the environment, in order, and then those to come: it does not end by itself. It goes on where it was
   * while the service cannot be reached, and rejects with a `CofferError` if it is refused. Keep the `sequence` of what
   * you have dealt with: a new reading begins after it.
   */
  readonly feed: (options?: FeedOptions) => AsyncGenerator<AppEvent, never, undefined>;
}

const WAIT_SECONDS = 25;

const readPage = (answer: Fields) => ({
  items: answer.list('items', readAppEvent),
  nextAfter: answer.number('nextAfter'),
});

/** How often an empty page is asked for again, at most. */
const EMPTY_PAGES_APART_MS = 1_000;

export function createFeedClient(call: Call, { retry, timing }: RetryPolicy): FeedClient {
  /** Undefined if the service could not be reached. */
  async function read(request: Parameters<Call>[0], signal: Signal | undefined) {
    try {
      return readBody(await call(request, signal && { signal }), readPage);
    } catch (error) {
      if (error instanceof CofferError && error.retryable) return undefined;
      throw error;
    }
  }

  return {
    async *feed({ after = 0, types, waitSeconds = WAIT_SECONDS, signal } = {}) {
      let place = after;
      for (;;) {
        const query = queryOf({ after: place, types: types?.join(','), wait: waitSeconds });
        const request = { method: 'GET', path: `/events${query}`, heldMs: waitSeconds * 1000 } as const;
        const askedAtMs = timing.nowMs();
        const page = await read(request, signal);
        if (page) {
          yield* page.items;
          place = page.nextAfter;
          // A service that is busy answers at once.
          const pauseMs = askedAtMs + EMPTY_PAGES_APART_MS - timing.nowMs();
          if (page.items.length === 0 && pauseMs > 0) await timing.sleep(pauseMs, signal);
        } else {
          // The call itself has tried again, until its deadline.
          await timing.sleep(retry.longestDelayMs * (0.5 + timing.random() / 2), signal);
        }
      }
    },
  };
}
