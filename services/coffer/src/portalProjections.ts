/** Gives the operator's admin API the consumers of the log and the rebuilding of the read models. */
import { PoisonEventError } from '@coffer/consumers';
import { type EventStore, type LogPlace, LogRewrittenError } from '@coffer/event-store';
import type { TaskResult } from '@coffer/http';
import { type Clock, Rejection } from '@coffer/kernel';
import { type ConsumerFigures, type EventSkips, type PortalProjections, portalErrors } from '@coffer/portal';
import {
  type RebuildDependencies,
  type RebuildOptions,
  RebuildUnderWayError,
  rebuildReadModels,
} from '@coffer/read-models';
import { allConsumers, type SchemaConsumer } from './allConsumers.ts';
import { commandContextOf } from './commandContextOf.ts';

export interface PortalProjectionsOptions extends RebuildDependencies {
  readonly store: EventStore;
  readonly skips: Pick<EventSkips, 'skip'>;
  readonly clock: Clock;
}

export function portalProjections(options: PortalProjectionsOptions): PortalProjections & {
  /** Gives up what is under way, so that a stopping process need not wait for it. */
  readonly stop: () => Promise<void>;
} {
  const { pool, store, skips, clock } = options;
  const stopping = new AbortController();
  const underWay = new Set<Promise<unknown>>();

  return {
    async list() {
      const head = await store.head();
      return Promise.all((await allConsumers(pool)).map((row) => figuresOf(store, row, head)));
    },
    skip: (request, context) => skips.skip(request, commandContextOf(context, clock)),
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
    async stop() {
      stopping.abort(new Error('The service is stopping.'));
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
    lagEvents: lagEventsOf(store, checkpoint, head),
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

function lagEventsOf(
  store: EventStore,
  checkpoint: LogPlace | undefined,
  head: LogPlace | undefined,
): number | null {
  if (!head) return 0;
  // The checkpoint was read after the head, and may have gone past it.
  if (checkpoint && store.comparePositions(checkpoint.position, head.position) >= 0) return 0;
  return store.distance(checkpoint?.position, head.position) ?? null;
}

/** The age of the first event that has not been taken. */
async function lagSecondsOf(store: EventStore, checkpoint: LogPlace | undefined): Promise<number> {
  const from = checkpoint && { from: checkpoint.position };
  for await (const [next] of store.readAll({ ...from, limit: 1 })) {
    if (next) return Math.max(0, Date.now() - next.recordedAt.getTime()) / 1000;
  }
  return 0;
}
