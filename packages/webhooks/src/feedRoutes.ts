/** The pull feed, for a game server and for the portal. */
import { type Endpoint, endpoint } from '@coffer/http';
import { environment, pageSize } from '@coffer/kernel';
import { portalAppOf } from '@coffer/portal';
import { z } from 'zod';
import { EVENT_TYPES, type EventType } from './domain/eventTypes.ts';
import { eventSchema } from './eventSchemas.ts';
import type { Feed } from './feed.ts';

const MOST_WAIT_SECONDS = 30;
/** A request that waits to the end must still be answered in time. */
const TIMEOUT_MS = (MOST_WAIT_SECONDS + 10) * 1_000;

const isType = (text: string): text is EventType => EVENT_TYPES.some((type) => type === text);

const feedQuery = z.strictObject({
  after: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,14}|last)$/, 'must be a sequence, 0 for the start, or last for the end')
    .transform((text) => (text === 'last' ? text : Number(text)))
    .default(0)
    .meta({
      wire: {
        anyOf: [
          { type: 'integer', minimum: 0 },
          { type: 'string', const: 'last' },
        ],
        default: 0,
      },
      description: 'The number of the last event that is known. last: what happens from now on.',
    }),
  limit: pageSize,
  types: z
    .string()
    .transform((text) => text.split(','))
    .refine((types) => types.every(isType), 'must be types of events, separated by commas')
    .transform((types) => [...new Set(types.filter(isType))])
    .optional()
    .meta({ wire: { type: 'string' }, description: 'Separated by commas. Without it: all of them.' }),
  wait: z
    .string()
    .regex(/^(?:[12]?\d|30)$/, `must be a whole number of seconds from 0 to ${MOST_WAIT_SECONDS}`)
    .transform(Number)
    .default(0)
    .meta({ wire: { type: 'integer', minimum: 0, maximum: MOST_WAIT_SECONDS, default: 0 } }),
});

/** The portal sees both environments. */
const portalFeedQuery = feedQuery.extend({ environment: environment.optional() });

const feedPage = z.object({
  items: z.array(eventSchema),
  nextAfter: z.int(),
  hasMore: z.boolean(),
});

const DESCRIPTION =
  'In order. previousSequence is the number before it that matches the same filter: whoever has that one too has missed nothing. Ask again with after=nextAfter; with wait, an empty answer comes only after so many seconds, or at once where 20 requests of the app wait already or the service is busy.';

const requestIn = <Query extends z.output<typeof feedQuery>>({ wait, ...query }: Query) => ({
  ...query,
  waitMs: wait * 1_000,
});

export const feedEndpoints = (feed: Feed): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/events',
    credential: 'sk',
    summary: "Read the environment's events",
    description: DESCRIPTION,
    query: feedQuery,
    timeoutMs: TIMEOUT_MS,
    links: { 'GET /events': { after: '$response.body#/nextAfter' } },
    success: { status: 200, schema: feedPage },
    errors: ['webhooks/events_pruned'],
    handle: async ({ caller, query, context }) => ({
      status: 200,
      body: await feed.read(
        { appId: caller.appId, environment: caller.environment, ...requestIn(query) },
        context,
      ),
    }),
  }),
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/events',
    credential: 'portal',
    summary: "Read the app's events",
    description: DESCRIPTION,
    query: portalFeedQuery,
    timeoutMs: TIMEOUT_MS,
    links: {
      'GET /portal/app/:appId/events': {
        appId: '$request.path.appId',
        after: '$response.body#/nextAfter',
      },
    },
    success: { status: 200, schema: feedPage },
    errors: ['portal/app_not_found', 'webhooks/events_pruned'],
    handle: async ({ caller, params, query, context }) => {
      const appId = portalAppOf(caller, params);
      return { status: 200, body: await feed.read({ appId, ...requestIn(query) }, context) };
    },
  }),
];
