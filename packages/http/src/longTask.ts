/**
 * A task that may take minutes, answered as JSON lines: any number of progress lines, then exactly one with the result.
 * A refusal is a result as well, since the status has been sent long before.
 */
import { z } from 'zod';

export interface TaskProgress {
  /** The current activity, in a few words. */
  readonly stage: string;
  readonly done: number;
  /** Null if the total is unknown. */
  readonly of: number | null;
}

/** With `ok` false, `code` is a code of the catalogue. */
export type TaskResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };

export const taskLine = (result: z.ZodType) =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('progress'), stage: z.string(), done: z.int(), of: z.int().nullable() }),
    z.object({ kind: z.literal('result'), result }),
  ]);

/** The result, of which only `ok` and the codes of failures are guaranteed. */
export const taskResult = (codes: readonly [string, ...string[]]) =>
  z.discriminatedUnion('ok', [
    z.looseObject({ ok: z.literal(true) }),
    z.looseObject({ ok: z.literal(false), code: z.enum(codes), message: z.string() }),
  ]);

/** Between two lines of one stage. */
const PROGRESS_INTERVAL_MS = 250;
/** The last line is repeated this often: intermediaries take a long silence for the end. */
const HEARTBEAT_MS = 10_000;

/** Runs `work`, which reports its progress through `report`. An error in it breaks the answer off. */
export async function* longTask(
  work: (report: (progress: TaskProgress) => void) => Promise<TaskResult>,
  heartbeatMs = HEARTBEAT_MS,
): AsyncGenerator<unknown> {
  let latest: TaskProgress | undefined;
  let news = Promise.withResolvers<void>();
  const running = work((progress) => {
    latest = progress;
    news.resolve();
  });
  const ended = running.then(() => true);
  // It fails below, unless the reader has gone away.
  ended.catch(() => undefined);

  let shown: { readonly stage: string; readonly atMs: number } | undefined;
  const heartbeat = setInterval(() => {
    shown = undefined;
    news.resolve();
  }, heartbeatMs);
  try {
    while (!(await Promise.race([ended, news.promise.then(() => false)]))) {
      news = Promise.withResolvers<void>();
      const nowMs = performance.now();
      if (!latest || (latest.stage === shown?.stage && nowMs - shown.atMs < PROGRESS_INTERVAL_MS)) continue;
      shown = { stage: latest.stage, atMs: nowMs };
      yield { kind: 'progress', ...latest };
    }
    yield { kind: 'result', result: await running };
  } finally {
    clearInterval(heartbeat);
  }
}
