/** Takes turns at the scrub, one process at a time. */
import type { Pool } from '@coffer/database';
import type { Clock } from '@coffer/kernel';
import { type ScrubDependencies, scrubTurn } from './scrub.ts';
import type { ScrubState } from './scrubState.ts';
import { endTurn, LEASE_MS, readScrub, renewTurn, takeTurn } from './scrubTable.ts';

export interface Scrubber {
  /**
   * Undefined if no turn is due, or another process has it. Throws whatever keeps the scrub from continuing.
   */
  readonly turn: (signal: AbortSignal) => Promise<ScrubChange | undefined>;
  /** How far the scrub is, whoever runs it, and how long until the next possible turn. */
  readonly look: () => Promise<{ readonly state: ScrubState | undefined; readonly waitMs: number }>;
}

interface ScrubChange {
  readonly before: ScrubState | undefined;
  readonly after: ScrubState;
}

export interface ScrubberOptions extends Omit<ScrubDependencies, 'signal'> {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Only for people to read. */
  readonly owner: string;
}

/** After trouble. */
const RETRY_MS = 30_000;

export function createScrubber({ pool, clock, owner, ...dependencies }: ScrubberOptions): Scrubber {
  return {
    async turn(signal) {
      const turn = await takeTurn(pool, owner);
      if (!turn) return undefined;
      const lost = new AbortController();
      const renewal = setInterval(() => {
        renewTurn(pool, turn).then(
          (isOurs) => isOurs || lost.abort(new Error('Another process has taken over the scrub.')),
          // The lease may outlive a short absence of the database; if it does not, another process takes over.
          () => undefined,
        );
      }, LEASE_MS / 3);
      try {
        const either = AbortSignal.any([signal, lost.signal]);
        const { state, waitMs } = await scrubTurn({ ...dependencies, signal: either }, turn.state, clock());
        const stands = await endTurn(pool, turn, state, waitMs);
        return stands ? { before: turn.state, after: state } : undefined;
      } catch (error) {
        // A process that stops passes the turn on at once.
        await endTurn(pool, turn, undefined, signal.aborted ? 0 : RETRY_MS);
        throw error;
      } finally {
        clearInterval(renewal);
      }
    },
    look: () => readScrub(pool),
  };
}
