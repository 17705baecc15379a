/** A long task as JSON lines: how far it is, a few times a second, and at last exactly one result. */

export interface TaskProgress {
  /** What is being done now, in a few words. */
  readonly stage: string;
  readonly done: number;
  /** Null where nobody knows how much there is. */
  readonly of: number | null;
}

export type TaskLine<Result> =
  | ({ readonly kind: 'progress' } & TaskProgress)
  | { readonly kind: 'result'; readonly result: Result };

const LINE_INTERVAL_MS = 300;

/** The first progress is always told, so that a caller knows at once that the task runs. */
export async function* taskLines<Progress, Report, Result>(
  task: AsyncGenerator<Progress, Report>,
  progressOf: (progress: Progress) => TaskProgress,
  resultOf: (report: Report) => Result,
  nowMs = () => performance.now(),
): AsyncGenerator<TaskLine<Result>> {
  let lastLineMs = Number.NEGATIVE_INFINITY;
  try {
    for (;;) {
      const { done, value } = await task.next();
      if (done) {
        yield { kind: 'result', result: resultOf(value) };
        return;
      }
      const now = nowMs();
      if (now - lastLineMs < LINE_INTERVAL_MS) continue;
      lastLineMs = now;
      yield { kind: 'progress', ...progressOf(value) };
    }
  } finally {
    // A caller that goes away ends the task, too. Its report is then of no use to anyone.
    await task.return(undefined as never);
  }
}
