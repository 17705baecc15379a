/**
 * Where many requests arrive, they begin in groups. Small ones, so that what else is due does not wait for all of them, the database gets the
 * appends of the first ones while the others begin, and what is in hand fits into the processor's cache. And not one by one, since the same
 * code takes half as long again for a request that finds none of it in the cache. ADRs 0080, 0083 and 0087.
 */

const MOST_TOGETHER = 32;
/** Of those that wait, at least this share begins in a turn of the event loop: more arriving each turn than may begin would pile up. */
const LEAST_SHARE = 1 / 4;
/** Where as many arrived within a moment, or are under way, the next one waits for company. Fewer are no group. */
const MANY = 8;
const MOMENT_MS = 2;
/** The first of a group waits for so long at the most, then until the event loop comes round: the fuller the thread, the longer. */
const LONGEST_WAIT_MS = 8;
/** From this share of the thread's time on that it does something, or waits for a processor to do it, a wait is longer than a moment. */
const HALF_FULL = 0.5;
/** From here on it is the longest. */
const NEARLY_FULL = 0.8;
/** How often the share is measured. What began before the last two measurements may wait for something: it is not under way any more. */
const PERIOD_MS = 100;

/** Of those that waited, on the clock of `performance.now()`. */
const arrivals = new WeakMap<object, number>();

interface Period {
  /** Of those that began in it. */
  underWay: number;
  /** The most that waited or were under way at once, as long as it lasted. */
  most: number;
}

interface Closing {
  readonly once: (event: 'close', listener: () => void) => unknown;
}

/** When it arrived. A request that begins at once arrives now. */
export const arrivedMs = (request: object): number => arrivals.get(request) ?? performance.now();

export function createRequestGroups(
  clock: () => number = () => performance.now(),
  busyShare: () => number = createBusyShare(),
) {
  const waiting: (() => void)[] = [];
  /** When the last ones arrived, in a circle that goes on at `oldest`. */
  const lastMs = new Float64Array(MANY);
  let oldest = 0;
  let period: Period = { underWay: 0, most: 0 };
  let periodBefore: Period = { underWay: 0, most: 0 };
  let periodBeganMs = Number.NEGATIVE_INFINITY;
  /** From the first that waits until its group begins. */
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let longestMs = MOMENT_MS;

  return {
    /** `begin`, at once or a moment later. They begin in the order of the calls, and end when the response closes. */
    take(request: object, response: Closing, begin: () => void): void {
      const nowMs = clock();
      if (nowMs - periodBeganMs >= PERIOD_MS) beginPeriod(nowMs);
      const areMany = nowMs - (lastMs[oldest] ?? 0) < MOMENT_MS || countUnderWay() >= MANY;
      lastMs[oldest] = nowMs;
      oldest = (oldest + 1) % MANY;
      const beginCounted = () => {
        count(response);
        begin();
      };
      if (!areMany && waiting.length === 0) {
        beginCounted();
        return;
      }
      arrivals.set(request, nowMs);
      waiting.push(beginCounted);
      period.most = Math.max(period.most, waiting.length + countUnderWay());
      planNext();
    },
  };

  function beginPeriod(nowMs: number): void {
    periodBeganMs = nowMs;
    periodBefore = period;
    period = { underWay: 0, most: 0 };
    const fullness = (busyShare() - HALF_FULL) / (NEARLY_FULL - HALF_FULL);
    longestMs = MOMENT_MS + (LONGEST_WAIT_MS - MOMENT_MS) * Math.min(1, Math.max(0, fullness));
  }

  function count(response: Closing): void {
    const begunIn = period;
    begunIn.underWay += 1;
    response.once('close', () => {
      begunIn.underWay -= 1;
    });
  }

  function countUnderWay(): number {
    return period.underWay + periodBefore.underWay;
  }

  /** Where half of those wait that there are, the other half is served meanwhile. */
  function areEnough(): boolean {
    const half = Math.max(period.most, periodBefore.most) / 2;
    return waiting.length >= Math.min(MOST_TOGETHER, Math.max(MANY, half));
  }

  function planNext(): void {
    if (areEnough()) beginSoon();
    else timer ??= setTimeout(beginSoon, longestMs);
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

/** Of the event loop's time since the last call, or since this one: from 0 to 1. */
function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** Of this thread: all its servers share its event loop. */
export const requestGroups = createRequestGroups();
