/**
 * Where many requests arrive, they begin in groups. Small ones, so that what else is due does not wait for all of them, the database gets the
 * appends of the first ones while the others begin, and what is in hand fits into the processor's cache. And not one by one, since the same
 * code takes half as long again for a request that finds none of it in the cache. ADRs 0080 and 0083.
 */

const MOST_TOGETHER = 32;
/** Of those that wait, at least this share begins in a turn of the event loop: more arriving each turn than may begin would pile up. */
const LEAST_SHARE = 1 / 4;
/** Where as many arrived within a moment, the next one waits for company. */
const MANY = 8;
/** The first of a group waits for so long at the most, then until the event loop comes round. */
const MOMENT_MS = 2;

/** Of those that waited, on the clock of `performance.now()`. */
const arrivals = new WeakMap<object, number>();

/** When it arrived. A request that begins at once arrives now. */
export const arrivedMs = (request: object): number => arrivals.get(request) ?? performance.now();

export function createRequestGroups(clock: () => number = () => performance.now()) {
  const waiting: (() => void)[] = [];
  /** When the last ones arrived, in a circle that goes on at `oldest`. */
  const lastMs = new Float64Array(MANY);
  let oldest = 0;
  /** From the first that waits until its group begins. */
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;

  return {
    /** `begin`, at once or a moment later. They begin in the order of the calls. */
    take(request: object, begin: () => void): void {
      const nowMs = clock();
      const areMany = nowMs - (lastMs[oldest] ?? 0) < MOMENT_MS;
      lastMs[oldest] = nowMs;
      oldest = (oldest + 1) % MANY;
      if (!areMany && waiting.length === 0) {
        begin();
        return;
      }
      arrivals.set(request, nowMs);
      waiting.push(begin);
      planNext();
    },

    /** What was under way is answered: those that wait are all the company there is, if their callers wait for each answer. */
    answersSent(): void {
      if (waiting.length > 0) beginSoon();
    },
  };

  function planNext(): void {
    if (waiting.length >= MOST_TOGETHER) beginSoon();
    else timer ??= setTimeout(beginSoon, MOMENT_MS);
  }

  /** Never right behind another group: what has arrived meanwhile is read first. */
  function beginSoon(): void {
    if (isDue) return;
    clearTimeout(timer);
    isDue = true;
    setImmediate(beginNext);
  }

  function beginNext(): void {
    timer = undefined;
    isDue = false;
    const group = waiting.splice(0, Math.max(MOST_TOGETHER, Math.ceil(waiting.length * LEAST_SHARE)));
    if (waiting.length > 0) planNext();
    for (const begin of group) begin();
  }
}

/** Of this thread: all its servers share its event loop. */
export const requestGroups = createRequestGroups();
