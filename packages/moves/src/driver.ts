/**
 * Carries one move to its end, from whatever state its stream is in. Any number of drivers may work on one move, and any
 * may die at any instant: what is signed is stored before its first byte leaves, only stored bytes are sent, and before
 * anything is signed the chain itself is asked. Source: docs/adr/0020-moves.md.
 */
import { setMaxListeners } from 'node:events';
import { backOffMs, NotYetError } from '@coffer/consumers';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import { type Clock, type Environment, messageOf } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import type { EndedMove, KnownMove, MoveInFlight } from './domain/move.ts';
import { createMoveRecord, type Journey, journeyOf, type MoveHooks } from './journey.ts';
import { createLandings, NoChainError } from './landings.ts';
import { MoveRefusal } from './preparation.ts';
import { createSigning, type SigningOptions } from './signing.ts';
import { pauseOn } from './waiting.ts';

export interface MoveDriverOptions extends SigningOptions {
  /** Undefined if none is configured. */
  readonly chainOf: (environment: Environment) => Chain | undefined;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly wallClock: Clock;
  readonly hooks: MoveHooks;
}

export interface MoveDriver {
  /**
   * Returns when the move's end is in the log. Throws when the signal aborts, which loses nothing, and a `NotYetError` when
   * the move has to wait with nothing in flight, however long: whoever called it calls again.
   */
  readonly drive: (requested: StreamEvent, signal: AbortSignal) => Promise<void>;
}

const isEnded = (known: KnownMove): known is EndedMove =>
  known.status === 'confirmed' || known.status === 'failed';

export function createMoveDriver(options: MoveDriverOptions): MoveDriver {
  const { clock, policy, hooks, failPoint } = options;
  const record = createMoveRecord(options);
  const landings = createLandings(options);
  const signing = createSigning(options, record, landings);

  return {
    async drive(requested, signal) {
      // Thousands of journeys end by one signal.
      setMaxListeners(0, signal);
      await travel(journeyOf(requested, signal));
    },
  };

  async function travel(journey: Journey): Promise<void> {
    const { environment, moveId, signal } = journey;
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      let mayLand = false;
      try {
        const known = await record.load(journey);
        if (isEnded(known)) {
          signing.forget(moveId);
          return;
        }
        mayLand = known.status !== 'requested';
        const inFlight = known.status === 'requested' ? await signing.signNext(journey, known) : known;
        if (inFlight) {
          mayLand = true;
          await bringHome(journey, inFlight);
        }
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        failures += 1;
        const hasChain = !(error instanceof NoChainError);
        if (hasChain) hooks.onTrouble({ environment, moveId, error });
        // What may land is sent again soon, and a reason against the move fails it soon.
        const isShort = (mayLand && hasChain) || error instanceof MoveRefusal;
        if (!isShort) throw new NotYetError(`${moveId} waits: ${messageOf(error)}`, { cause: error });
        await pauseOn(clock, backOffMs(failures, policy.firstRetryMs, policy.mostRetryMs), signal);
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
