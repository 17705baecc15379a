/** The portal's endpoints for webhooks. Source: spec, Webhook subscription management; all but the first three are ours. */
import type { Pool } from '@coffer/database';
import { type Endpoint, endpoint, idempotencyKeyOf } from '@coffer/http';
import {
  type Clock,
  environment,
  idText,
  isId,
  longCallerId,
  newId,
  pageCursor,
  pageSize,
  Rejection,
} from '@coffer/kernel';
import { createAdminTransaction, PORTAL_ERRORS, portalAppOf, requireAdmin } from '@coffer/portal';
import { z } from 'zod';
import { deliveriesOf, RESENT_AT_ONCE, resendFailed, resendRange, statisticsOf } from './deliveryLog.ts';
import { envelopeBytes } from './domain/envelope.ts';
import { EVENT_TYPES } from './domain/eventTypes.ts';
import { reject } from './errors.ts';
import { isDelivered, POST_ERRORS, type Poster } from './sending/post.ts';
import { signedHeaders } from './sending/signature.ts';
import type { Targets } from './sending/targets.ts';
import { listSubscriptions, type Subscription, type Subscriptions, subscriptionOf } from './subscriptions.ts';

export interface ManagementOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly subscriptions: Subscriptions;
  readonly targets: Targets;
  readonly poster: Poster;
  /** Something has become due. */
  readonly wakeSender: () => void;
}

const WEBHOOKS = '/portal/app/:appId/webhooks';
const WEBHOOK = `${WEBHOOKS}/:webhookId` as const;
const time = z.iso.datetime();
const sequence = z.int().min(0);
/** Longer than one attempt may take. */
const TEST_TIMEOUT_MS = 15_000;

const eventType = z.enum(EVENT_TYPES);
/** Without repetitions, in the documented order. None of them means all. */
const eventTypes = z.array(eventType).max(EVENT_TYPES.length);

const subscriptionBody = z.object({
  id: idText('whk'),
  url: z.string(),
  /** Empty: all of them. */
  events: z.array(eventType),
  environment: environment.nullable(),
  disabled: z.boolean(),
  disabledReason: z.enum(['requested', 'failing']).nullable(),
  failingSince: time.nullable(),
  createdAt: time,
  updatedAt: time,
});

const outcomeFields = {
  status: z.int().nullable(),
  error: z.enum([...POST_ERRORS, 'unknown']).nullable(),
  durationMs: z.int().nullable(),
  answerHead: z.string().nullable(),
};

const deliveryBody = z.object({
  sequence: z.int(),
  eventId: idText('evt'),
  type: eventType,
  objectId: z.string(),
  createdAt: time,
  state: z.enum(['pending', 'delivered', 'failed']),
  nextAttemptAt: time.nullable(),
  attempts: z.array(z.object({ number: z.int(), startedAt: time, ...outcomeFields })),
});

const shown = ({ events, state, ...rest }: Subscription) => ({
  ...rest,
  events: events ?? [],
  disabled: state === 'disabled',
});

const filterOf = (events: readonly (typeof EVENT_TYPES)[number][] | undefined) =>
  events === undefined || events.length === 0 ? null : EVENT_TYPES.filter((type) => events.includes(type));

export function managementEndpoints(options: ManagementOptions): readonly Endpoint[] {
  return [...subscriptionEndpoints(options), ...deliveryEndpoints(options)];
}

const NOT_FOUND = ['portal/app_not_found', 'webhooks/not_found'] as const;
const ADMIN_NOT_FOUND = [...PORTAL_ERRORS, 'webhooks/not_found'] as const;

/** An id of the wrong form is that of no subscription. Throws `webhooks/not_found`. */
function knownId(webhookId: string): string {
  if (!isId('whk', webhookId)) throw reject('webhooks/not_found');
  return webhookId;
}

/** What others may know of a subscription: its address may contain a secret of its owner. */
const recorded = ({ id: webhookId, url, events, environment, state }: Subscription) => ({
  webhookId,
  origin: new URL(url).origin,
  events: events ?? [],
  environment,
  state,
});

function subscriptionEndpoints({ pool, clock, subscriptions }: ManagementOptions): readonly Endpoint[] {
  const transaction = createAdminTransaction(pool, clock);
  return [
    endpoint({
      method: 'GET',
      path: WEBHOOKS,
      credential: 'portal',
      summary: 'List the webhook subscriptions of an app',
      success: { status: 200, schema: z.array(subscriptionBody) },
      errors: ['portal/app_not_found'],
      handle: async ({ caller, params }) => {
        const found = await listSubscriptions(pool, portalAppOf(caller, params));
        return { status: 200, body: found.map(shown) };
      },
    }),
    endpoint({
      method: 'POST',
      path: WEBHOOKS,
      credential: 'portal',
      summary: 'Subscribe an endpoint to events',
      description: 'The secret is answered once. Without events, or with none, it is for all of them.',
      body: z.strictObject({
        url: z.string(),
        events: eventTypes.optional(),
        environment: environment.optional(),
      }),
      links: {
        [`DELETE ${WEBHOOK}`]: { appId: '$request.path.appId', webhookId: '$response.body#/id' },
      },
      success: {
        status: 200,
        schema: z.object({ id: idText('whk'), url: z.string(), secret: z.string(), message: z.string() }),
      },
      errors: [...PORTAL_ERRORS, 'webhooks/url_not_allowed', 'webhooks/too_many_subscriptions'],
      admit: requireAdmin,
      handle: async ({ caller, params, body, context }) => {
        const appId = portalAppOf(caller, params);
        const wanted = {
          url: body.url,
          events: filterOf(body.events),
          environment: body.environment ?? null,
        };
        const made = await transaction(context, async (change) => {
          const created = await subscriptions.create(change, appId, wanted);
          await change.record('webhooks.create', appId, recorded(created.subscription));
          return created;
        });
        const { id, url } = made.subscription;
        const message = 'Keep the secret: it is not shown again. Rotate it if it is lost.';
        return { status: 200, body: { id, url, secret: made.secret, message } };
      },
    }),
    endpoint({
      method: 'PUT',
      path: WEBHOOK,
      credential: 'portal',
      summary: 'Change a webhook subscription',
      description: 'Fields that are left out stay. While it is disabled, nothing is sent to it.',
      body: z.strictObject({
        url: z.string().optional(),
        events: eventTypes.optional(),
        environment: environment.nullable().optional(),
        disabled: z.boolean().optional(),
      }),
      success: { status: 200, schema: subscriptionBody },
      errors: [...ADMIN_NOT_FOUND, 'webhooks/url_not_allowed'],
      admit: requireAdmin,
      handle: async ({ caller, params, body: { events, ...changes }, context }) => {
        const appId = portalAppOf(caller, params);
        const wanted = { ...changes, ...(events && { events: filterOf(events) }) };
        const changed = await transaction(context, async (change) => {
          const after = await subscriptions.update(change, appId, knownId(params.webhookId), wanted);
          await change.record('webhooks.update', appId, recorded(after));
          return after;
        });
        return { status: 200, body: shown(changed) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: WEBHOOK,
      credential: 'portal',
      summary: 'Delete a webhook subscription',
      description: 'Nothing more is sent to it, and what was pending has failed.',
      success: { status: 204 },
      errors: ADMIN_NOT_FOUND,
      admit: requireAdmin,
      handle: async ({ caller, params, context }) => {
        const appId = portalAppOf(caller, params);
        await transaction(context, async (change) => {
          await subscriptions.remove(change, appId, knownId(params.webhookId));
          await change.record('webhooks.delete', appId, { webhookId: params.webhookId });
        });
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'POST',
      path: `${WEBHOOK}/rotate`,
      credential: 'portal',
      summary: 'Replace the secret of a webhook subscription',
      description:
        'For 24 hours deliveries are signed with both, and the same Idempotency-Key gets the same answer. Another rotation meanwhile ends the oldest secret at once: no more than two sign.',
      body: z.strictObject({}),
      idempotencyHeader: {},
      success: {
        status: 200,
        schema: z.object({ id: idText('whk'), secret: z.string(), previousValidUntil: time }),
      },
      errors: ADMIN_NOT_FOUND,
      admit: requireAdmin,
      handle: async ({ caller, params, context }) => {
        const appId = portalAppOf(caller, params);
        const key = idempotencyKeyOf(context, longCallerId);
        const { secret, previousValidUntil, replayed } = await transaction(context, async (change) => {
          const rotated = await subscriptions.rotate(change, appId, knownId(params.webhookId), key);
          if (rotated.replayed) return rotated;
          await change.record('webhooks.rotate', appId, {
            webhookId: params.webhookId,
            previousValidUntil: rotated.previousValidUntil,
          });
          return rotated;
        });
        return { status: 200, body: { id: params.webhookId, secret, previousValidUntil }, replayed };
      },
    }),
  ];
}

const deliveryEndpoints = ({
  pool,
  clock,
  targets,
  poster,
  wakeSender,
}: ManagementOptions): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: `${WEBHOOK}/test`,
    credential: 'portal',
    summary: 'Send a test event',
    description:
      'One attempt at once, with the sequence 0, which no event of the app has. The answer says what came back.',
    timeoutMs: TEST_TIMEOUT_MS,
    body: z.strictObject({ type: eventType.default('user.created') }),
    success: { status: 200, schema: z.object({ delivered: z.boolean(), ...outcomeFields }) },
    errors: [...ADMIN_NOT_FOUND, 'webhooks/disabled'],
    admit: requireAdmin,
    handle: async ({ caller, params, body: { type } }) => {
      const appId = portalAppOf(caller, params);
      const { id: subscriptionId, environment: place } = await subscriptionOf(
        pool,
        appId,
        knownId(params.webhookId),
      );
      const found = await targets.of([subscriptionId]);
      if (!found.has(subscriptionId)) throw reject('webhooks/disabled');
      const target = found.get(subscriptionId);
      if (!target) throw new Error(`The secret of ${subscriptionId} cannot be opened.`);
      const at = clock();
      const id = newId('evt');
      const envelope = {
        id,
        type,
        createdAt: at,
        appId,
        environment: place ?? 'test',
        sequence: 0,
        data: { test: true },
      };
      const content = { id, type, body: envelopeBytes(JSON.stringify(envelope), null) };
      const headers = signedHeaders(content, target.keysAt(at), at);
      const outcome = await poster.post({ ...target, headers, body: content.body });
      return { status: 200, body: { delivered: isDelivered(outcome), ...outcome } };
    },
  }),
  endpoint({
    method: 'GET',
    path: `${WEBHOOK}/deliveries`,
    credential: 'portal',
    summary: 'List deliveries with their attempts',
    description:
      'The newest first. An attempt with the error unknown is under way, or broke off with its sender.',
    query: z.strictObject({
      type: eventType.optional(),
      objectId: z.string().max(200).optional(),
      state: z.enum(['pending', 'delivered', 'failed']).optional(),
      since: time.optional(),
      until: time.optional(),
      limit: pageSize,
      cursor: pageCursor.optional(),
    }),
    success: {
      status: 200,
      schema: z.object({ items: z.array(deliveryBody), nextCursor: z.string().nullable() }),
    },
    errors: NOT_FOUND,
    handle: async ({ caller, params, query: { cursor, limit, since, until, ...filter } }) => {
      const appId = portalAppOf(caller, params);
      const { id } = await subscriptionOf(pool, appId, knownId(params.webhookId));
      const found = await deliveriesOf(pool, appId, id, {
        ...filter,
        since: since === undefined ? undefined : new Date(since),
        until: until === undefined ? undefined : new Date(until),
        before: cursor === undefined ? undefined : sequenceOf(cursor),
        // One more tells whether there is a next page.
        limit: limit + 1,
      });
      const items = found.slice(0, limit).map((one) => ({ ...one, sequence: Number(one.sequence) }));
      const last = items.at(-1);
      return {
        status: 200,
        body: { items, nextCursor: found.length > limit && last ? String(last.sequence) : null },
      };
    },
  }),
  endpoint({
    method: 'POST',
    path: `${WEBHOOK}/resend`,
    credential: 'portal',
    summary: 'Deliver events again',
    description: `Either the events numbered from..to (at most ${RESENT_AT_ONCE}; to is from if left out), or what failed since a time. Each keeps its id, number and bytes, and has all attempts ahead of it. While hasMore is true, ask again: for numbers, with nextFrom for from; for a time, with the same one.`,
    body: z.union([
      z.strictObject({ from: sequence, to: sequence.optional() }),
      z.strictObject({ failedSince: time }),
    ]),
    success: {
      status: 200,
      schema: z.object({ resent: z.int(), hasMore: z.boolean(), nextFrom: z.int().nullable() }),
    },
    errors: [...ADMIN_NOT_FOUND, 'webhooks/disabled'],
    admit: requireAdmin,
    handle: async ({ caller, params, body }) => {
      const appId = portalAppOf(caller, params);
      const subscription = await subscriptionOf(pool, appId, knownId(params.webhookId));
      if (subscription.state === 'disabled') throw reject('webhooks/disabled');
      const now = clock();
      if ('failedSince' in body) {
        const resent = await resendFailed(pool, appId, subscription.id, new Date(body.failedSince), now);
        wakeSender();
        return { status: 200, body: { resent, hasMore: resent === RESENT_AT_ONCE, nextFrom: null } };
      }
      const { from, to = from } = body;
      const last = Math.min(to, from + RESENT_AT_ONCE - 1);
      const range = { from: BigInt(from), to: BigInt(last) };
      const resent = await resendRange(pool, appId, subscription, range, now);
      wakeSender();
      return { status: 200, body: { resent, hasMore: last < to, nextFrom: last < to ? last + 1 : null } };
    },
  }),
  endpoint({
    method: 'GET',
    path: `${WEBHOOK}/statistics`,
    credential: 'portal',
    summary: 'Show how an endpoint is doing',
    description: 'The attempts of the last 24 hours, and how many deliveries are waiting now.',
    success: {
      status: 200,
      schema: z.object({
        pending: z.int(),
        attempts: z.int(),
        succeeded: z.int(),
        p50DurationMs: z.int().nullable(),
        p99DurationMs: z.int().nullable(),
      }),
    },
    errors: NOT_FOUND,
    handle: async ({ caller, params }) => {
      const appId = portalAppOf(caller, params);
      const { id } = await subscriptionOf(pool, appId, knownId(params.webhookId));
      return { status: 200, body: await statisticsOf(pool, id, clock()) };
    },
  }),
];

function sequenceOf(cursor: string): bigint {
  if (/^\d{1,18}$/.test(cursor)) return BigInt(cursor);
  throw new Rejection('request/invalid', {
    issues: [{ path: 'cursor', message: 'is not a cursor of this list; begin without one' }],
  });
}
