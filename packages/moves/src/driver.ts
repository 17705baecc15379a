/**
 * Carries one move to its end, from whatever state its stream is in. Any number of drivers may work on one move, and any
 * may die at any instant: what is signed is stored before its first byte leaves, only stored bytes are sent, and before
 * anything is signed the chain itself is asked. Source: docs/adr/0020-moves.md.
 */
import { setMaxListeners } from 'node:events';
import { backOffMs, type MonotonicClock } from '@coffer/consumers';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import type { Clock, Environment } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import { type AttemptOptions, signAttempt } from './attempt.ts';
import { createBlockhashSharing } from './blockhashes.ts';
import {
  type EndedMove,
  type KnownMove,
  type MoveInFlight,
  nextAttempt,
  type RequestedMove,
  type SignedAttempt,
} from './domain/move.ts';
import { createMoveRecord, type Journey, journeyOf, type MoveHooks } from './journey.ts';
import { createLandings, NoChainError } from './landings.ts';
import { MoveRefusal } from './preparation.ts';
import { type Decided, judge, searchOnChain } from './search.ts';
import type { PayingWallet } from './types.ts';
import { createGate, pauseOn, untilAborted } from './waiting.ts';

export interface MoveDriverOptions extends AttemptOptions {
  /** Undefined if none is configured. */
  readonly chainOf: (environment: Environment) => Chain | undefined;
  /** Undefined if the app has none yet. */
  readonly feePayerOf: (appId: string, environment: Environment) => Promise<PayingWallet | undefined>;
  /** Throws while nothing may be signed in the environment: the move waits. */
  readonly requireClearance: (environment: Environment, chain: Chain) => Promise<void>;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly clock: MonotonicClock;
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

/** The result of preparing the next attempt. `awaiting`: something on the chain must be decided first. */
type NextStep =
  | { readonly step: 'ended' }
  | { readonly step: 'awaiting' }
  | { readonly step: 'signed'; readonly signed: SignedAttempt };

const ENDED: NextStep = { step: 'ended' };

export function createMoveDriver(options: MoveDriverOptions): MoveDriver {
  const { feePayerOf, clock, wallClock, policy, hooks, failPoint } = options;
  const journeys = new Set<Journey>();
  const preparing = createGate(policy.parallelPreparations);
  const sharingBlockhash = createBlockhashSharing(clock, policy);
  const record = createMoveRecord(options);
  const landings = createLandings(options);
  /**
   * What this process has signed without seeing the end. A log that fails over to a copy some seconds older no longer
   * holds it, and the chain may not know it yet.
   */
  const signedHere = new Map<string, SignedAttempt>();

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
          signedHere.delete(journey.moveId);
          return;
        }
        await (known.status === 'requested' ? signNext(journey, known) : bringHome(journey, known));
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

  // Before anything may land

  async function signNext(journey: Journey, known: RequestedMove): Promise<void> {
    const chain = landings.chainFor(journey);
    await untilAborted(journey.signal, options.requireClearance(journey.environment, chain));
    const feePayer = await feePayerOf(known.terms.appId, journey.environment);
    if (!feePayer) throw new Error(`App ${known.terms.appId} has no wallet that pays fees.`);
    const forgotten = signedHere.get(journey.moveId);
    if (forgotten && forgotten.signature !== known.expired?.signature) journey.undecided = forgotten;
    if ((await awaitUndecided(journey, known, chain, feePayer)) === 'ended') return;

    const next = await preparing.through(journey.signal, () => nextStep(journey, known, chain, feePayer));
    if (next.step !== 'signed') return;
    // One of several drivers has signed: all of them send what is in the stream.
    const answer = await record.signed(journey, next.signed);
    if (!answer) return;
    signedHere.set(journey.moveId, next.signed);
    if (answer.status === 'signed') await bringHome(journey, answer);
  }

  /** Waits for a transaction that may have moved the money without the stream knowing it, and ends the move if it did. */
  async function awaitUndecided(
    journey: Journey,
    { terms }: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
  ): Promise<'open' | 'ended'> {
    if (!journey.undecided) return 'open';
    const { signature, lastValidBlockHeight } = journey.undecided;
    const watched = { signature, lastValidBlockHeight, transaction: undefined };
    const { outcome } = await landings.of(journey, chain, watched);
    if (outcome === 'executed') {
      const verdict = await untilAborted(journey.signal, judge(chain, signature, terms, feePayer.address));
      if (verdict === 'undecided') {
        throw new Error(`No node tells what ${signature} did, though it is final.`);
      }
      if (verdict) {
        await endBy(journey, verdict);
        return 'ended';
      }
    }
    journey.undecided = undefined;
    signedHere.delete(journey.moveId);
    return 'open';
  }

  async function endBy(journey: Journey, found: Decided): Promise<void> {
    if (found.outcome === 'moved') await record.confirmed(journey, found);
    else await record.failed(journey, 'moves/failed_on_chain', found);
  }

  async function nextStep(
    journey: Journey,
    known: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
  ): Promise<NextStep> {
    const found = await untilAborted(journey.signal, searchOnChain(chain, known.terms, feePayer.address));
    if (found?.outcome === 'undecided') {
      // Whatever is in a block by now has a blockhash of now or earlier.
      const { lastValidBlockHeight } = await untilAborted(journey.signal, chain.latestBlockhash());
      journey.undecided = { signature: found.signature, lastValidBlockHeight };
      return { step: 'awaiting' };
    }
    if (found) {
      await endBy(journey, found);
      return ENDED;
    }
    if (nextAttempt(known) > policy.mostAttempts) {
      await record.failed(journey, 'moves/never_landed', null);
      return ENDED;
    }
    try {
      const signed = await signAttempt(options, journey, known, sharingBlockhash(chain), feePayer);
      return { step: 'signed', signed };
    } catch (error) {
      noteRefusal(journey, error);
      const { refused } = journey;
      // A node may lag: only a reason that recurs counts.
      if (!refused || refused.times < policy.refusalsToFail) throw error;
      await record.failed(journey, refused.code, null);
      return ENDED;
    }
  }

  // While it may land

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

/** Counts consecutive occurrences of the same reason; any other trouble resets the count. */
function noteRefusal(journey: Journey, error: unknown): void {
  if (!(error instanceof MoveRefusal)) {
    journey.refused = undefined;
    return;
  }
  const { code } = error;
  journey.refused = { code, times: journey.refused?.code === code ? journey.refused.times + 1 : 1 };
}
