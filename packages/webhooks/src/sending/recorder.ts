/** What ended and is not written yet. */
import type { Pool } from '@coffer/database';
import type { Clock } from '@coffer/kernel';
import { type EndedAttempt, recordEnded } from './deliveries.ts';
import { MOST_IN_FLIGHT } from './lanes.ts';

/** Attempts that were noted together. */
export interface Round {
  readonly id: string;
  /** How many of them have not been recorded. */
  open: number;
}

interface Ended extends EndedAttempt {
  readonly round: Round;
}

export function createRecorder(pool: Pool, clock: Clock) {
  let ended: Ended[] = [];
  let overRounds: string[] = [];
  let isFailing = false;
  return {
    add(one: Ended): void {
      ended.push(one);
    },
    /** Nothing of the round has begun. */
    addEmpty(round: Round): void {
      overRounds.push(round.id);
    },
    /** What is not recorded is attempted again, so nothing more begins until it is. */
    isBehind: (): boolean => isFailing || ended.length >= MOST_IN_FLIGHT,

    /** Returns what is recorded. If it fails, it is for the next time. */
    async record(): Promise<readonly EndedAttempt[]> {
      const some = ended;
      const empty = overRounds;
      if (some.length === 0 && empty.length === 0) return [];
      ended = [];
      overRounds = [];
      for (const { round } of some) round.open -= 1;
      const rounds = [...new Set(some.map(({ round }) => round))];
      const over = rounds.filter(({ open }) => open === 0);
      try {
        const ids = { touched: rounds.map(idOf), over: [...empty, ...over.map(idOf)] };
        await recordEnded(pool, some, ids, clock());
        isFailing = false;
        return some;
      } catch (error) {
        for (const { round } of some) round.open += 1;
        ended = [...some, ...ended];
        overRounds = [...empty, ...overRounds];
        isFailing = true;
        throw error;
      }
    },
  };
}

const idOf = ({ id }: Round): string => id;
