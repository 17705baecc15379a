/** The consumers of the log, as an operator looks after them, and the rebuilding of the read models. */
import {
  type Endpoint,
  endpoint,
  longTask,
  type RequestContext,
  type TaskProgress,
  type TaskResult,
  taskLine,
  taskResult,
} from '@coffer/http';
import { trimmedText } from '@coffer/kernel';
import { z } from 'zod';
import type { SkipRequest } from '../skips.ts';
import type { PortalOptions } from './portalEndpoints.ts';

const consumerFigures = z.object({
  name: z.string(),
  /** Where its checkpoint stands. */
  schema: z.string(),
  /** Of the last event taken; null at the beginning of the log. */
  position: z.string().nullable(),
  /** How many events of the log it has taken. */
  ordinal: z.int(),
  /** Null where the store cannot count. */
  lagEvents: z.int().nullable(),
  /** How long the oldest event that it has not taken has been in the log. */
  lagSeconds: z.number(),
  /** `running`: a process holds its lease. `stopped`: for good, and somebody must look. `unattended`: no process has its role. */
  state: z.enum(['running', 'stopped', 'unattended']),
  /** The process that holds the lease: host, process id, a number. */
  owner: z.string().nullable(),
  /** ISO 8601: when it last moved or was taken over. */
  updatedAt: z.string(),
  /** At which event, if it is one, and why; null unless stopped. */
  stopped: z
    .object({
      code: z.string(),
      reason: z.string(),
      at: z.string(),
      event: z
        .object({
          id: z.string(),
          stream: z.string(),
          revision: z.int(),
          type: z.string(),
          position: z.string(),
        })
        .nullable(),
    })
    .nullable(),
});

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

export type ConsumerFigures = z.infer<typeof consumerFigures>;

/** What the portal needs of the read models. */
export interface PortalProjections {
  readonly list: () => Promise<readonly ConsumerFigures[]>;
  readonly skip: (
    request: SkipRequest,
    context: RequestContext,
  ) => Promise<{ readonly answer: z.infer<typeof skipBody>; readonly replayed: boolean }>;
  /**
   * The result of the task: what was compared, and which version is live now. Throws
   * `portal/rebuild_under_way` before any progress, and the signal's reason.
   */
  readonly rebuild: (
    options: { readonly verify: boolean; readonly signal: AbortSignal },
    report: (progress: TaskProgress) => void,
  ) => Promise<TaskResult>;
}

export const projectionEndpoints = ({
  projections,
}: Pick<PortalOptions, 'projections'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/projections',
    credential: 'operator',
    summary: 'List the consumers of the log: how far each is, and who runs it',
    success: { status: 200, schema: z.object({ items: z.array(consumerFigures) }) },
    errors: [],
    handle: async () => ({ status: 200, body: { items: await projections.list() } }),
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
      const { answer, replayed } = await projections.skip({ consumer: name, ...body }, context);
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
      lines: longTask((report) => projections.rebuild({ verify, signal }, report)),
    }),
  }),
];
