/** Waits for something that the service finishes by itself. */
import type { CofferError } from './cofferError.ts';
import type { CallOptions, Timing } from './retry.ts';

export interface PollOptions extends CallOptions {
  /** Between two polls, in milliseconds. Default 1,000. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;

/** Looks until it is done; rejects with `late` once the deadline would pass before the next look. */
export async function pollUntil<Value, Last>(
  timing: Timing,
  { deadlineMs, pollMs = POLL_MS, signal }: PollOptions & { readonly deadlineMs: number },
  look: (
    within: CallOptions,
  ) => Promise<
    { readonly done: true; readonly value: Value } | { readonly done: false; readonly last: Last }
  >,
  late: (last: Last) => CofferError,
): Promise<Value> {
  const deadline = timing.nowMs() + deadlineMs;
  for (;;) {
    const seen = await look({ deadlineMs: deadline - timing.nowMs(), ...(signal && { signal }) });
    if (seen.done) return seen.value;
    if (timing.nowMs() + pollMs >= deadline) throw late(seen.last);
    await timing.sleep(pollMs, signal);
  }
}
