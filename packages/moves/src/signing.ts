/**
 * Before anything may land: the chain is asked whether the money has moved already, and if not, the next attempt is
 * signed and stored. When it is signed, no earlier attempt can still land, in this order:
 *
 * - with clearance, what another process signed and the log has forgotten is in a final block or in none for ever;
 * - what this process signed without seeing the end, and what the chain has not decided, has been awaited;
 * - inside the gate, directly before it is signed, the chain is asked what names the move. Usually nothing does. What
 *   does is searched outside the gate, however long that takes, and then the gate is passed again: nothing may name the
 *   move by then that the search has not found to be final and a stranger's;
 * - what is signed by somebody else from then on is in the stream, which takes one signature.
 *
 * Source: docs/adr/0020-moves.md.
 */
import type { MonotonicClock } from '@coffer/consumers';
import type { Environment } from '@coffer/kernel';
import type { Chain, Signature } from '@coffer/solana';
import { type AttemptOptions, signAttempt } from './attempt.ts';
import { createBlockhashSharing } from './blockhashes.ts';
import { type MoveInFlight, nextAttempt, type RequestedMove, type SignedAttempt } from './domain/move.ts';
import { createFundsSharing } from './feePayers.ts';
import type { Journey, MoveRecord } from './journey.ts';
import type { Landings } from './landings.ts';
import type { MovePolicy } from './policy.ts';
import { MoveRefusal, mustAfford } from './preparation.ts';
import {
  type Decided,
  type Found,
  isNamedSince,
  judge,
  type SearchedChain,
  searchOnChain,
} from './search.ts';
import type { PayingWallet } from './types.ts';
import { createGate, type Gate, untilAborted } from './waiting.ts';

export interface SigningOptions extends AttemptOptions {
  /** Undefined if the app has none yet. */
  readonly feePayerOf: (appId: string, environment: Environment) => Promise<PayingWallet | undefined>;
  /** Throws while nothing may be signed in the environment: the move waits. */
  readonly requireClearance: (environment: Environment, chain: Chain) => Promise<void>;
  readonly clock: MonotonicClock;
}

/** The result of preparing the next attempt. `awaiting`: something on the chain must be decided first. */
type NextStep =
  | { readonly step: 'ended' }
  | { readonly step: 'awaiting' }
  | { readonly step: 'signed'; readonly signed: SignedAttempt };

const ENDED: NextStep = { step: 'ended' };

export function createSigning(options: SigningOptions, record: MoveRecord, landings: Landings) {
  const { feePayerOf, requireClearance, clock, policy } = options;
  const gates: Record<Environment, Gates> = { test: gatesOf(policy), live: gatesOf(policy) };
  const fundsOf = createFundsSharing(clock);
  const sharingBlockhash = createBlockhashSharing(clock, policy);
  /**
   * What this process has signed without seeing the end. A log that fails over to a copy some seconds older no longer
   * holds it, and the chain may not know it yet.
   */
  const signedHere = new Map<string, SignedAttempt>();

  return { signNext, forget: (moveId: string) => signedHere.delete(moveId) };

  /** Undefined if the move has ended, another driver has signed, or something on the chain must be decided first. */
  async function signNext(journey: Journey, known: RequestedMove): Promise<MoveInFlight | undefined> {
    const chain = landings.chainFor(journey);
    await untilAborted(journey.signal, requireClearance(journey.environment, chain));
    const feePayer = await feePayerOf(known.terms.appId, journey.environment);
    if (!feePayer) throw new Error(`App ${known.terms.appId} has no wallet that pays fees.`);
    const forgotten = signedHere.get(journey.moveId);
    if (forgotten && forgotten.signature !== known.expired?.signature) journey.undecided = forgotten;
    if ((await awaitUndecided(journey, known, chain, feePayer)) === 'ended') return undefined;

    const next = await nextStep(journey, known, chain, feePayer);
    if (next.step !== 'signed') return undefined;
    // One of several drivers has signed: all of them send what is in the stream.
    const answer = await record.signed(journey, next.signed);
    if (!answer) return undefined;
    signedHere.set(journey.moveId, next.signed);
    return answer.status === 'signed' ? answer : undefined;
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
    const { signal } = journey;
    const { searching, preparing } = gates[journey.environment];
    const isExhausted = nextAttempt(known) > policy.mostAttempts;
    const shortage = await shortageOf(journey, chain, feePayer);
    // What will not be signed stays outside; if it has moved already, that is found all the same.
    for (let newest: readonly Signature[] | undefined = isExhausted || shortage ? undefined : []; ; ) {
      const judged = newest;
      const next =
        judged && (await preparing.through(signal, () => prepare(journey, known, chain, feePayer, judged)));
      if (next) return next;
      const searched = await untilAborted(
        signal,
        searchOnChain(inTurns(chain, searching, signal), known.terms, feePayer.address),
      );
      if (searched.found) return stepAfter(journey, chain, searched.found);
      if (isExhausted) {
        await record.failed(journey, 'moves/never_landed', null);
        return ENDED;
      }
      if (shortage) throw shortage;
      newest = searched.newest;
    }
  }

  async function shortageOf(journey: Journey, chain: Chain, feePayer: PayingWallet): Promise<unknown> {
    const funds = await untilAborted(journey.signal, fundsOf(chain, feePayer.address));
    try {
      mustAfford(funds, policy);
    } catch (error) {
      return error;
    }
    return undefined;
  }

  async function stepAfter(journey: Journey, chain: Chain, found: Found): Promise<NextStep> {
    if (found.outcome === 'undecided') {
      // Whatever is in a block by now has a blockhash of now or earlier.
      const { lastValidBlockHeight } = await untilAborted(journey.signal, chain.latestBlockhash());
      journey.undecided = { signature: found.signature, lastValidBlockHeight };
      return { step: 'awaiting' };
    }
    await endBy(journey, found);
    return ENDED;
  }

  /** Undefined if something names the move that has not been judged. */
  async function prepare(
    journey: Journey,
    known: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
    judged: readonly Signature[],
  ): Promise<NextStep | undefined> {
    if (await untilAborted(journey.signal, isNamedSince(chain, journey.moveId, judged))) return undefined;
    try {
      const funds = await untilAborted(journey.signal, fundsOf(chain, feePayer.address));
      const payer = { ...feePayer, funds };
      const signed = await signAttempt(options, journey, known, sharingBlockhash(chain), payer);
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
}

/** Of one environment: no move waits for those of the other. */
interface Gates {
  readonly searching: Gate;
  readonly preparing: Gate;
}

const gatesOf = ({ parallelSearches, parallelPreparations }: MovePolicy): Gates => ({
  searching: createGate(parallelSearches),
  preparing: createGate(parallelPreparations),
});

/** Each call waits its turn: a move that thousands of transactions name takes no more of the others' time than any. */
const inTurns = (chain: SearchedChain, gate: Gate, signal: AbortSignal): SearchedChain => ({
  transactionsOf: (address, page) => gate.through(signal, () => chain.transactionsOf(address, page)),
  transaction: (signature) => gate.through(signal, () => chain.transaction(signature)),
});

/** Counts consecutive occurrences of the same reason; any other trouble resets the count. */
function noteRefusal(journey: Journey, error: unknown): void {
  if (!(error instanceof MoveRefusal)) {
    journey.refused = undefined;
    return;
  }
  const { code } = error;
  journey.refused = { code, times: journey.refused?.code === code ? journey.refused.times + 1 : 1 };
}
