/** The operator's view of the log's consumers, and the rebuilding of the read models. */
import { lagOf, PoisonEventError } from '@coffer/consumers';
import { type EventStore, type LogPlace, LogRewrittenError } from '@coffer/event-store';
import type { TaskProgress, TaskResult } from '@coffer/http';
import { Rejection } from '@coffer/kernel';
import {
  allConsumers,
  type RebuildDependencies,
  type RebuildOptions,
  RebuildUnderWayError,
  rebuildReadModels,
  type SchemaConsumer,
} from '@coffer/read-models';
import { z } from 'zod';
import { portalErrors } from './errors.ts';

export const consumerFigures = z.object({
  name: z.string(),
  /** The position of its checkpoint. */
  schema: z.string(),
  /** The ordinal of the last event processed; null at the beginning of the log. */
  position: z.string().nullable(),
  /** How many events of the log it has processed. */
  ordinal: z.int(),
  /** Null if the store cannot count. */
  lagEvents: z.int().nullable(),
  /** How long the oldest unprocessed event has been in the log. */
  lagSeconds: z.number(),
  /**
   * `running`: a process holds its lease. `stopped`: for good, so it needs attention. `unattended`: no process has its
   * role.
   */
  state: z.enum(['running', 'stopped', 'unattended']),
  /** The process that holds the lease: host, process id, a number. */
  owner: z.string().nullable(),
  /** ISO 8601: when it last advanced or was taken over. */
  updatedAt: z.string(),
  /** The reason, and the event if one is the cause; null unless stopped. */
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

type ConsumerFigures = z.infer<typeof consumerFigures>;

export interface ReadModelTasks {
  readonly listConsumers: () => Promise<readonly ConsumerFigures[]>;
  /**
   * The result of the task: what was compared, and which version is now live. Throws
   * `portal/rebuild_under_way` before any progress, and the signal's reason.
   */
  readonly rebuild: (
    options: { readonly verify: boolean; readonly signal: AbortSignal },
    report: (progress: TaskProgress) => void,
  ) => Promise<TaskResult>;
  /** Abandons what is under way, so that a stopping process need not wait for it. */
  readonly interrupt: () => void;
  /** Resolves when everything abandoned has ended. */
  readonly stop: () => Promise<void>;
}

export function createReadModelTasks(
  options: RebuildDependencies & { readonly store: EventStore },
): ReadModelTasks {
  const { pool, store } = options;
  const stopping = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const interrupt = () => stopping.abort(new Error('The service is stopping.'));

  return {
    async listConsumers() {
      const head = await store.head();
      return Promise.all((await allConsumers(pool)).map((row) => figuresOf(store, row, head)));
    },
    async rebuild({ verify, signal }, onProgress) {
      const running = rebuild(options, {
        verify,
        signal: AbortSignal.any([signal, stopping.signal]),
        onProgress,
      });
      underWay.add(running);
      try {
        return await running;
      } finally {
        underWay.delete(running);
      }
    },
    interrupt,
    async stop() {
      interrupt();
      await Promise.allSettled(underWay);
    },
  };
}

async function rebuild(dependencies: RebuildDependencies, options: RebuildOptions): Promise<TaskResult> {
  try {
    const result = await rebuildReadModels(dependencies, options);
    const verdict = result.moved ? ({ ok: true } as const) : refusal('portal/read_models_differ');
    return { ...verdict, ...result };
  } catch (error) {
    if (error instanceof RebuildUnderWayError) throw new Rejection('portal/rebuild_under_way');
    if (error instanceof LogRewrittenError) return refusal('portal/log_rewritten', error.message);
    if (!(error instanceof PoisonEventError)) throw error;
    return refusal('portal/poison_event', error.message);
  }
}

function refusal(code: keyof typeof portalErrors, reason?: string) {
  return { ok: false, code, message: portalErrors[code].message, reason } as const;
}

async function figuresOf(
  store: EventStore,
  { schema, name, checkpoint, owner, updatedAt, stopped }: SchemaConsumer,
  head: LogPlace | undefined,
): Promise<ConsumerFigures> {
  return {
    name,
    schema,
    position: checkpoint?.position ?? null,
    ordinal: checkpoint?.ordinal ?? 0,
    lagEvents: lagOf(store, checkpoint, head) ?? null,
    lagSeconds: await lagSecondsOf(store, checkpoint),
    state: owner !== undefined ? 'running' : stopped ? 'stopped' : 'unattended',
    owner: owner ?? null,
    updatedAt: updatedAt.toISOString(),
    stopped: stopped
      ? {
          code: stopped.code,
          reason: stopped.reason,
          at: stopped.at.toISOString(),
          event: stopped.event ?? null,
        }
      : null,
  };
}

/** The age of the first unprocessed event. */
async function lagSecondsOf(store: EventStore, checkpoint: LogPlace | undefined): Promise<number> {
  const from = checkpoint && { from: checkpoint.position };
  for await (const [next] of store.readAll({ ...from, limit: 1 })) {
    if (next) return Math.max(0, Date.now() - next.recordedAt.getTime()) / 1000;
  }
  return 0;
}
