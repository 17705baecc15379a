/** Webhooks: facts of the log, numbered per app, signed and delivered to the endpoints of its owner. */
import { defineContext, type Platform } from '@coffer/host';
import { startEmitter } from './emitter.ts';
import { webhookErrors } from './errors.ts';
import { webhookMessages } from './eventSchemas.ts';
import { createFeed } from './feed.ts';
import { feedEndpoints } from './feedRoutes.ts';
import { managementEndpoints } from './managementRoutes.ts';
import { webhookMigrations } from './migrations.ts';
import { startRetention } from './retention.ts';
import type { Reach } from './sending/endpointUrl.ts';
import { createPoster } from './sending/post.ts';
import { type Sender, startSender } from './sending/sender.ts';
import { createTargets, type ReachOf, type UnreadableSecret } from './sending/targets.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createToldEvents } from './told.ts';

/** Provided by the installation. */
export interface WebhooksGiven {
  /** What endpoints may be; those for live events alone are never on this machine unless it is `insecure`. */
  readonly webhookReach: Reach;
  /** Undefined: events are kept for ever. */
  readonly webhookRetentionDays: number | undefined;
  /** Whether events go to Kafka as well, and are kept until they are there. */
  readonly webhooksToKafka: boolean;
}

export const webhooksContext = defineContext({
  name: 'webhooks',
  errors: webhookErrors,
  migrations: [webhookMigrations],
  create({
    pool,
    store,
    clock,
    secretBox,
    logger,
    webhookReach,
    webhookRetentionDays: days,
    webhooksToKafka: isPassedOn,
  }: Platform & WebhooksGiven) {
    const reachOf: ReachOf = (environment) =>
      environment === 'live' && webhookReach === 'loopback' ? 'public' : webhookReach;
    const targets = createTargets({ pool, secretBox, reachOf, onUnreadable: unreadableLog(logger) });
    const subscriptions = createSubscriptions({ secretBox, reachOf });
    const testPoster = createPoster();
    const feed = createFeed(pool);
    let sender: Sender | undefined;
    return {
      messages: webhookMessages,
      provides: { toldEvents: createToldEvents(pool, store) },
      endpoints: [
        ...feedEndpoints(feed),
        ...managementEndpoints({
          pool,
          clock,
          subscriptions,
          targets,
          poster: testPoster,
          wakeSender: () => sender?.wake(),
        }),
      ],
      workers: [
        { start: () => ({ interrupt: feed.close, stop: () => testPoster.close() }) },
        {
          role: 'webhook-emitter',
          start(shared) {
            const emitter = startEmitter({
              ...shared,
              moves: store,
              onEmitted: () => sender?.wake(),
            });
            return { consumers: [emitter], stop: emitter.stop };
          },
        },
        {
          role: 'webhook-emitter',
          start() {
            if (days === undefined) return { stop: async () => {} };
            return startRetention({
              pool,
              clock,
              days,
              isPassedOn,
              onTrouble: (error) => logger.warn({ err: error }, 'old events of webhooks are not pruned'),
            });
          },
        },
        {
          role: 'webhook-sender',
          start() {
            sender = startSender({
              pool,
              clock,
              poster: createPoster(),
              targets,
              onTrouble: (error) =>
                logger.warn({ err: error }, 'webhooks wait: their queue cannot be reached'),
            });
            return { stop: sender.stop };
          },
        },
      ],
    };
  },
});

const unreadableLog =
  (logger: Platform['logger']) =>
  ({ subscriptionId, which, error }: UnreadableSecret): void =>
    logger.error(
      { subscriptionId, err: error },
      which === 'current'
        ? 'a webhook waits: its secret cannot be opened; rotate it, or restore its row'
        : 'a webhook is signed with its new secret alone: the former one cannot be opened',
    );
