/**
 * The lanes that this sender holds, one for each endpoint: what is due in it, and how many attempts at a time it may have. A
 * lane that answers gets more, one that fails gets one: while it hangs, it holds one connection.
 */
const FIRST_BOUND = 4;
const MOST = 32;

/** Of all lanes together; each has an equal share of it. Where they are more than that, they take turns. */
export const MOST_IN_FLIGHT = 1_024;
/** Of those that fail together: no number of hanging lanes can take what those that answer need. */
export const MOST_FAILING_IN_FLIGHT = 768;
/** Of all lanes together, what is read before its turn; but one of each in any case. */
const MOST_AHEAD = 8_192;
/** Of one lane, unless there are very many: with each read come retries, which have a part of a few. */
const LEAST_AHEAD = 4;

/** A delivery whose next attempt may begin. */
export interface Due {
  readonly subscriptionId: string;
  readonly sequence: string;
  /** Of this attempt, from 1. */
  readonly number: number;
  readonly previousSequence: string | null;
  readonly eventId: string;
  readonly type: string;
  readonly body: string;
}

export interface HeldLane {
  readonly subscriptionId: string;
  /** It has not succeeded lately. */
  readonly isFailing: boolean;
}

/** What a lane asks of the queue. */
export interface LaneNeed {
  readonly subscriptionId: string;
  /** How many first attempts, with some retries in any case, */
  readonly ahead: number;
  /** and how many in all, if only retries are left. */
  readonly room: number;
  /** What is due and not to be given: it waits here, is under way, or is being recorded. */
  readonly taken: readonly string[];
}

interface Lane {
  bound: number;
  inFlight: number;
  isHeld: boolean;
  /** Nothing more begins in it: it is for another sender. */
  isLeaving: boolean;
  waiting: Due[];
  readonly taken: Set<string>;
  /** At which stir nothing more was due. */
  dryAt: number;
}

export function createLanes() {
  /** The one whose turn was longest ago first. */
  const lanes = new Map<string, Lane>();
  let held = 0;
  let stirs = 0;

  const of = (subscriptionId: string): Lane => {
    const lane = lanes.get(subscriptionId);
    if (!lane) throw new Error('A lane is kept while anything of it is under way.');
    return lane;
  };
  const forgetIfOver = (subscriptionId: string, lane: Lane) => {
    if (!lane.isHeld && lane.taken.size === 0) lanes.delete(subscriptionId);
  };
  const leave = (subscriptionId: string, lane: Lane) => {
    for (const { sequence } of lane.waiting) lane.taken.delete(sequence);
    lane.waiting = [];
    if (lane.isHeld) held -= 1;
    lane.isHeld = false;
    forgetIfOver(subscriptionId, lane);
  };
  const roomOf = ({ isHeld, isLeaving, bound, inFlight }: Lane): number =>
    isHeld && !isLeaving ? Math.max(1, Math.min(bound, Math.floor(MOST_IN_FLIGHT / held))) - inFlight : 0;

  return {
    /** These are all that this sender holds now. */
    hold(all: readonly HeldLane[]): void {
      const ids = new Set(all.map(({ subscriptionId }) => subscriptionId));
      for (const [id, lane] of lanes) if (!ids.has(id)) leave(id, lane);
      for (const { subscriptionId, isFailing: hasFailed } of all) {
        const lane = lanes.get(subscriptionId);
        if (lane) lane.isHeld = true;
        else lanes.set(subscriptionId, newLane(hasFailed ? 1 : FIRST_BOUND));
      }
      held = ids.size;
    },

    /** Makes so many ready for another sender, and returns those that are: nothing of them is under way. */
    release(count: number): readonly string[] {
      const heldOnes = [...lanes].filter(([, { isHeld }]) => isHeld);
      const quietFirst = heldOnes.toSorted(([, a], [, b]) => busyness(a) - busyness(b));
      const leaving = new Set(quietFirst.slice(0, count).map(([id]) => id));
      const released: string[] = [];
      for (const [id, lane] of heldOnes) {
        lane.isLeaving = leaving.has(id);
        if (!lane.isLeaving || busyness(lane) > 0) continue;
        leave(id, lane);
        released.push(id);
      }
      return released;
    },

    /** Something may be due in any of them. */
    stir(): void {
      stirs += 1;
    },

    /** Of those that have room, and may have something to fill it. */
    needs(): readonly LaneNeed[] {
      return [...lanes].flatMap(([subscriptionId, lane]) => {
        const room = roomOf(lane) - lane.waiting.length;
        if (room <= 0 || lane.dryAt === stirs) return [];
        const wanted = Math.max(LEAST_AHEAD, 2 * lane.bound);
        const ahead = Math.max(room, Math.min(wanted, Math.floor(MOST_AHEAD / held)));
        return [{ subscriptionId, ahead, room, taken: [...lane.taken] }];
      });
    },

    /** Answers needs that were asked for at that stir. */
    supply(needs: readonly LaneNeed[], due: readonly Due[], askedAt: number): void {
      const bySubscription = Map.groupBy(due, ({ subscriptionId }) => subscriptionId);
      for (const { subscriptionId, room } of needs) {
        const lane = lanes.get(subscriptionId);
        if (!lane?.isHeld) continue;
        const found = bySubscription.get(subscriptionId) ?? [];
        for (const one of found) {
          lane.waiting.push(one);
          lane.taken.add(one.sequence);
        }
        if (found.length < room) lane.dryAt = askedAt;
      }
    },
    stirs: () => stirs,

    /** What begins now: as many of each as it has room for, as far as there is room for all. */
    take(): readonly Due[] {
      const taken: Due[] = [];
      const room = roomOfAll(lanes.values());
      for (const [id, lane] of [...lanes]) {
        const most = Math.min(roomOf(lane), room.all, isFailing(lane) ? room.failing : room.all);
        if (most <= 0 || lane.waiting.length === 0) continue;
        const begun = lane.waiting.splice(0, most);
        lane.inFlight += begun.length;
        room.all -= begun.length;
        if (isFailing(lane)) room.failing -= begun.length;
        taken.push(...begun);
        lanes.delete(id);
        lanes.set(id, lane);
      }
      return taken;
    },

    /** They do not begin after all. Nothing of their lanes does, until they are held anew. */
    giveBack(due: readonly Due[]): void {
      for (const { subscriptionId, sequence } of due) {
        const lane = of(subscriptionId);
        lane.inFlight -= 1;
        lane.taken.delete(sequence);
        leave(subscriptionId, lane);
      }
    },

    end(subscriptionId: string, succeeded: boolean): void {
      const lane = of(subscriptionId);
      lane.inFlight -= 1;
      lane.bound = succeeded ? Math.min(lane.bound + 1, MOST) : Math.max(Math.floor(lane.bound / 2), 1);
    },

    /** The queue knows what became of it. */
    recorded({ subscriptionId, sequence }: Pick<Due, 'subscriptionId' | 'sequence'>): void {
      const lane = of(subscriptionId);
      lane.taken.delete(sequence);
      forgetIfOver(subscriptionId, lane);
    },

    withAttempts: () => [...lanes].flatMap(([id, { inFlight }]) => (inFlight > 0 ? [id] : [])),
  };
}

const newLane = (bound: number): Lane => ({
  bound,
  inFlight: 0,
  isHeld: true,
  isLeaving: false,
  waiting: [],
  taken: new Set(),
  dryAt: Number.NaN,
});

/** It may have one attempt at a time. */
const isFailing = ({ bound }: Lane): boolean => bound === 1;

function roomOfAll(lanes: Iterable<Lane>): { all: number; failing: number } {
  const room = { all: MOST_IN_FLIGHT, failing: MOST_FAILING_IN_FLIGHT };
  for (const lane of lanes) {
    room.all -= lane.inFlight;
    if (isFailing(lane)) room.failing -= lane.inFlight;
  }
  return room;
}

/** Under way, or not recorded yet. */
const busyness = ({ taken, waiting }: Lane): number => taken.size - waiting.length;
