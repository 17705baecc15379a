/** The operator's endpoints for the log's consumers and for rebuilding the read models. */

import { requestedBy } from '@coffer/event-store';
import { type Endpoint, endpoint, longTask, taskLine, taskResult } from '@coffer/http';
import { isoTimeOf, trimmedText } from '@coffer/kernel';
import { z } from 'zod';
import { consumerFigures } from '../readModelTasks.ts';
import type { PortalOptions } from './options.ts';

const skipBody = z.object({
  consumer: z.string(),
  eventId: z.string(),
  stream: z.string(),
  revision: z.int(),
  eventType: z.string(),
  reason: z.string(),
  skippedAt: z.string(),
});

const rebuildLine = taskLine(
  taskResult(['portal/read_models_differ', 'portal/log_rewritten', 'portal/poison_event']),
);

export const projectionEndpoints = ({
  clock,
  readModels,
  skips,
}: Pick<PortalOptions, 'clock' | 'readModels' | 'skips'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/projections',
    credential: 'operator',
    summary: 'List the consumers of the log: how far each is, and who runs it',
    success: { status: 200, schema: z.object({ items: z.array(consumerFigures) }) },
    errors: [],
    handle: async () => ({ status: 200, body: { items: await readModels.listConsumers() } }),
  }),
  endpoint({
    method: 'POST',
    path: '/portal/consumers/:name/skips',
    credential: 'operator',
    summary: 'Have a consumer pass over the one event at which it has stopped, on record',
    description:
      'The last resort: docs/operating/README.md says what it means for the books. Once an event: the same again answers the same.',
    body: z.strictObject({ eventId: z.guid().toLowerCase(), reason: trimmedText(1_000) }),
    success: { status: 200, schema: skipBody },
    errors: [
      'portal/consumer_not_found',
      'portal/consumer_not_skippable',
      'portal/already_skipped',
      'portal/not_stopped_there',
    ],
    handle: async ({ params: { name }, body, context }) => {
      const by = requestedBy(context, isoTimeOf(clock));
      const { answer, replayed } = await skips.skip({ consumer: name, ...body }, by);
      return { status: 200, body: answer, replayed };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/projections/rebuild',
    credential: 'operator',
    summary: 'Fill the read models anew beside the live ones, compare them row by row, and move to them',
    description:
      'With `verify` nothing moves when a row differs. It is given up when the caller goes away before the result.',
    body: z.strictObject({ verify: z.boolean() }),
    success: { status: 200, lines: true, schema: rebuildLine },
    errors: ['portal/rebuild_under_way'],
    handle: ({ body: { verify }, context: { signal } }) => ({
      status: 200,
      lines: longTask((report) => readModels.rebuild({ verify, signal }, report)),
    }),
  }),
];
