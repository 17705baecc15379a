/**
 * Carries one move to its end, from whatever state its stream is in. Any number of drivers may work on one move, and any
 * may die at any instant: what is signed is stored before its first byte leaves, only stored bytes are sent, and before
 * anything is signed the chain itself is asked. Source: docs/adr/0020-moves.md.
 */
import { setMaxListeners } from 'node:events';
import { backOffMs } from '@coffer/consumers';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import type { Clock, Environment } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import type { EndedMove, KnownMove, MoveInFlight } from './domain/move.ts';
import { createMoveRecord, type Journey, journeyOf, type MoveHooks } from './journey.ts';
import { createLandings, NoChainError } from './landings.ts';
import { createSigning, type SigningOptions } from './signing.ts';
import { pauseOn } from './waiting.ts';

export interface MoveDriverOptions extends SigningOptions {
  /** Undefined if none is configured. */
  readonly chainOf: (environment: Environment) => Chain | undefined;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly wallClock: Clock;
  readonly hooks: MoveHooks;
}

interface MovesInFlight {
  readonly count: number;
  /** Since the oldest of them was requested; 0 if there is none. */
  readonly oldestSeconds: number;
}

export interface MoveDriver {
  /** Returns when the move's end is in the log. Throws only when the signal aborts, which loses nothing. */
  readonly drive: (requested: StreamEvent, signal: AbortSignal) => Promise<void>;
  readonly inFlight: (environment: Environment) => MovesInFlight;
}

const isEnded = (known: KnownMove): known is EndedMove =>
  known.status === 'confirmed' || known.status === 'failed';

export function createMoveDriver(options: MoveDriverOptions): MoveDriver {
  const { clock, wallClock, policy, hooks, failPoint } = options;
  const journeys = new Set<Journey>();
  const record = createMoveRecord(options);
  const landings = createLandings(options);
  const signing = createSigning(options, record, landings);

  return {
    async drive(requested, signal) {
      // Thousands of journeys end by one signal.
      setMaxListeners(0, signal);
      const journey = journeyOf(requested, signal);
      journeys.add(journey);
      try {
        await travel(journey);
      } finally {
        journeys.delete(journey);
      }
    },

    inFlight: (environment) =>
      figuresOf(
        [...journeys].filter((journey) => journey.environment === environment),
        wallClock().getTime(),
      ),
  };

  async function travel(journey: Journey): Promise<void> {
    const { environment, moveId } = journey;
    for (let failures = 0; ; ) {
      journey.signal.throwIfAborted();
      try {
        const known = await record.load(journey);
        if (isEnded(known)) {
          signing.forget(moveId);
          return;
        }
        const inFlight = known.status === 'requested' ? await signing.signNext(journey, known) : known;
        if (inFlight) await bringHome(journey, inFlight);
        failures = 0;
      } catch (error) {
        journey.signal.throwIfAborted();
        failures += 1;
        if (!(error instanceof NoChainError)) hooks.onTrouble({ environment, moveId, error });
        const delayMs = backOffMs(failures, policy.firstRetryMs, policy.mostRetryMs);
        await pauseOn(clock, delayMs, journey.signal);
      }
    }
  }

  /** While it may land. */
  async function bringHome(journey: Journey, { status, attempt }: MoveInFlight): Promise<void> {
    const chain = landings.chainFor(journey);
    const transaction = Buffer.from(attempt.transaction, 'base64');
    const onAccepted = async () => {
      failPoint('move.sent');
      if (status !== 'submitted') await record.submitted(journey, attempt);
    };
    const landed = await landings.of(journey, chain, { ...attempt, transaction }, onAccepted);
    if (landed.outcome === 'lost') return record.expired(journey, attempt);
    const { signature } = attempt;
    const { slot, error } = landed;
    if (error === null) await record.confirmed(journey, { signature, slot });
    else await record.failed(journey, 'moves/failed_on_chain', { signature, slot });
  }
}

function figuresOf(journeys: readonly Journey[], nowMs: number): MovesInFlight {
  const oldestMs = journeys.reduce((oldest, { requestedAtMs }) => Math.min(oldest, requestedAtMs), nowMs);
  return { count: journeys.length, oldestSeconds: (nowMs - oldestMs) / 1000 };
}
