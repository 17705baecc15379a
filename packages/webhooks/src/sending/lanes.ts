/**
 * How many attempts at a time each endpoint may have. A lane that answers gets more, one that fails gets one: while it
 * hangs, it holds one connection.
 */
const FIRST_BOUND = 4;
const MOST = 32;

/** Of all lanes together; each has an equal share of it, so that no number of hanging ones can take the others'. */
export const MOST_IN_FLIGHT = 1_024;

interface Lane {
  bound: number;
  inFlight: number;
  /** Of the attempts under way. */
  breaker: AbortController;
}

export interface LaneBound {
  readonly subscriptionId: string;
  readonly bound: number;
  readonly inFlight: number;
}

export interface Lanes {
  /** The signal breaks the attempt off. */
  readonly begin: (subscriptionId: string) => AbortSignal;
  readonly end: (subscriptionId: string, succeeded: boolean) => void;
  readonly withAttempts: () => readonly string[];
  readonly breakOff: (subscriptionId: string) => void;
  /** Of those that differ from a lane never seen. */
  readonly bounds: () => readonly LaneBound[];
}

export function createLanes(): Lanes {
  const lanes = new Map<string, Lane>();
  const laneOf = (subscriptionId: string): Lane => {
    const lane = lanes.get(subscriptionId) ?? {
      bound: FIRST_BOUND,
      inFlight: 0,
      breaker: new AbortController(),
    };
    lanes.set(subscriptionId, lane);
    return lane;
  };
  return {
    begin(subscriptionId) {
      const lane = laneOf(subscriptionId);
      lane.inFlight += 1;
      return lane.breaker.signal;
    },
    end(subscriptionId, succeeded) {
      const lane = laneOf(subscriptionId);
      lane.inFlight -= 1;
      lane.bound = succeeded ? Math.min(lane.bound + 1, MOST) : Math.max(Math.floor(lane.bound / 2), 1);
      if (lane.inFlight === 0 && lane.bound === FIRST_BOUND) lanes.delete(subscriptionId);
    },
    withAttempts: () => [...lanes].flatMap(([id, { inFlight }]) => (inFlight > 0 ? [id] : [])),
    breakOff(subscriptionId) {
      const lane = laneOf(subscriptionId);
      lane.breaker.abort();
      lane.breaker = new AbortController();
    },
    bounds: () =>
      [...lanes].map(([subscriptionId, { bound, inFlight }]) => ({ subscriptionId, bound, inFlight })),
  };
}
