/**
 * Carries one move to its end, from wherever its stream says it stands. Any number may work on one move, and any may
 * die at any instant: what is signed is stored before its first byte leaves, only what is stored is sent, and before
 * anything is signed the chain itself is asked. Source: docs/adr/0020-moves.md.
 */
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import type { MonotonicClock } from '@coffer/consumers';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import { type Clock, decodeMetadata, type Environment, type FailPoint } from '@coffer/kernel';
import { type Address, type Chain, signatureOf } from '@coffer/solana';
import { createBlockhashSharing } from './blockhashes.ts';
import {
  type EndedMove,
  type KnownMove,
  type MoveCommand,
  type MoveInFlight,
  move,
  nextAttempt,
  type OnChain,
  type RequestedMove,
  type SignedAttempt,
} from './domain/move.ts';
import { parseMoveStream } from './domain/moveIds.ts';
import type { MoveFailureCode } from './errors.ts';
import { createFlights, type Flight, type Flights, type Landing } from './flights.ts';
import type { MovePolicy } from './policy.ts';
import { isLastingRefusal, MoveRefusal, prepareTransfer } from './preparation.ts';
import type { RentSponsor } from './rent.ts';
import { type Decided, judge, searchOnChain } from './search.ts';
import type { PayingWallet } from './types.ts';
import { createGate, pauseOn, untilAborted } from './waiting.ts';

/** What signs for a wallet: that of the wallets. It throws `wallets/…` refusals. */
export interface MoveSigner {
  readonly sign: (
    wallet: { readonly ownerId: string; readonly environment: Environment; readonly walletId: string },
    message: Uint8Array,
    opening: { readonly actor: string; readonly purpose: string; readonly requestId: string },
  ) => Promise<Uint8Array>;
}

/** For metrics and the log. */
export interface MoveHooks {
  /** Something went wrong and is tried again. */
  readonly onTrouble: (trouble: {
    readonly environment: Environment;
    /** Undefined where it is about all moves of the chain. */
    readonly moveId: string | undefined;
    readonly error: unknown;
  }) => void;
  /** Moves of this environment wait for a chain to be configured. Told once. */
  readonly onNoChain: (environment: Environment) => void;
  readonly onSigned: (environment: Environment) => void;
  readonly onExpired: (environment: Environment) => void;
  readonly onEnded: (
    environment: Environment,
    ended: { readonly code: string | null; readonly requestedAt: string },
  ) => void;
}

export interface MoveDriverOptions {
  /** Undefined where none is configured. */
  readonly chainOf: (environment: Environment) => Chain | undefined;
  readonly signer: MoveSigner;
  /** Undefined where the app has none yet. */
  readonly feePayerOf: (appId: string, environment: Environment) => Promise<PayingWallet | undefined>;
  /** The wallet of a user whose key is kept and used here; undefined for any other address. */
  readonly walletAt: (environment: Environment, address: Address) => Promise<PayingWallet | undefined>;
  readonly rentSponsor: Pick<RentSponsor, 'spend'>;
  /** Throws while nothing may be signed in the environment: the move waits. */
  readonly requireClearance: (environment: Environment, chain: Chain) => Promise<void>;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly clock: MonotonicClock;
  readonly wallClock: Clock;
  readonly policy: MovePolicy;
  readonly hooks: MoveHooks;
  readonly failPoint: FailPoint;
}

export interface MovesInFlight {
  readonly count: number;
  /** Since the oldest of them was requested; 0 where there is none. */
  readonly oldestSeconds: number;
}

export interface MoveDriver {
  /** Returns when the move's end is in the log. Throws only when the signal aborts; nothing is lost by that. */
  readonly drive: (requested: StreamEvent, signal: AbortSignal) => Promise<void>;
  readonly inFlight: (environment: Environment) => MovesInFlight;
}

/** One call of `drive`. */
interface Journey {
  readonly environment: Environment;
  readonly stream: string;
  readonly moveId: string;
  readonly cause: StreamEvent;
  readonly requestedAtMs: number;
  readonly signal: AbortSignal;
  /** The reason against the move that was met last, and how often in a row. */
  refused: { readonly code: MoveFailureCode; readonly times: number } | undefined;
  /** May have moved the money, though the stream does not know it: nothing is signed before it is decided. */
  undecided: Omit<Flight, 'transaction'> | undefined;
}

/** How long an append may stay of unknown outcome. */
const APPEND_WITHIN_MS = 10_000;

const isEnded = (known: KnownMove): known is EndedMove =>
  known.status === 'confirmed' || known.status === 'failed';

class NoChainError extends Error {
  override readonly name = 'NoChainError';
}

export function createMoveDriver(options: MoveDriverOptions): MoveDriver {
  const { chainOf, signer, feePayerOf, handler, clock, wallClock, policy, hooks, failPoint } = options;
  const journeys = new Set<Journey>();
  const flightsOf = new Map<Chain, Flights>();
  const withoutChain = new Set<Environment>();
  const preparing = createGate(policy.parallelPreparations);
  const sharingBlockhash = createBlockhashSharing(clock, policy);
  /**
   * What this process has signed and not seen the end of. A log that fails over to a copy some seconds older no
   * longer knows of it, and the chain may not yet.
   */
  const signedHere = new Map<string, SignedAttempt>();

  return {
    async drive(requested, signal) {
      // Thousands of journeys end by one signal.
      setMaxListeners(0, signal);
      const place = parseMoveStream(requested.stream);
      assert(place, `${requested.stream} is no move`);
      const event = move.codec.decode(requested);
      assert(event.type === 'MoveRequested', `${event.type} requests no move`);
      const journey: Journey = {
        environment: place.environment,
        stream: requested.stream,
        moveId: place.moveId,
        cause: requested,
        requestedAtMs: Date.parse(event.data.requestedAt),
        signal,
        refused: undefined,
        undecided: undefined,
      };
      journeys.add(journey);
      try {
        await travel(journey);
      } finally {
        journeys.delete(journey);
      }
    },

    inFlight(environment) {
      const here = [...journeys].filter((journey) => journey.environment === environment);
      const oldestMs = here.reduce((oldest, one) => Math.min(oldest, one.requestedAtMs), Infinity);
      const ageMs = here.length === 0 ? 0 : wallClock().getTime() - oldestMs;
      return { count: here.length, oldestSeconds: Math.max(0, ageMs) / 1000 };
    },
  };

  async function travel(journey: Journey): Promise<void> {
    for (let failures = 0; ; ) {
      journey.signal.throwIfAborted();
      try {
        const known = await load(journey);
        if (isEnded(known)) {
          signedHere.delete(journey.moveId);
          return;
        }
        await (known.status === 'requested' ? signNext(journey, known) : bringHome(journey, known));
        failures = 0;
      } catch (error) {
        journey.signal.throwIfAborted();
        failures += 1;
        tellTrouble(journey, error);
        const wait = Math.min(policy.mostRetryMs, policy.firstRetryMs * 2 ** Math.min(failures - 1, 20));
        await pauseOn(clock, wait, journey.signal);
      }
    }
  }

  function tellTrouble({ environment, moveId }: Journey, error: unknown): void {
    if (!(error instanceof NoChainError)) {
      hooks.onTrouble({ environment, moveId, error });
    } else if (!withoutChain.has(environment)) {
      withoutChain.add(environment);
      hooks.onNoChain(environment);
    }
  }

  // Before anything may land

  async function signNext(journey: Journey, known: RequestedMove): Promise<void> {
    const chain = chainFor(journey);
    await untilAborted(journey.signal, options.requireClearance(journey.environment, chain));
    const feePayer = await feePayerOf(known.terms.appId, journey.environment);
    if (!feePayer) throw new Error(`App ${known.terms.appId} has no wallet that pays fees.`);
    const forgotten = signedHere.get(journey.moveId);
    if (forgotten && forgotten.signature !== known.expired?.signature) journey.undecided = forgotten;
    const { undecided } = journey;
    if (undecided && (await isDecidedBy(undecided, journey, known, chain, feePayer))) return;

    const signed = await preparing.through(journey.signal, () => nextSigned(journey, known, chain, feePayer));
    if (!signed) return;

    // Of several drivers one has signed: whoever goes on sends what stands in the stream.
    const { answer, appended } = await execute(journey, { type: 'RecordSigned', signed });
    if (appended.length === 0) return;
    signedHere.set(journey.moveId, signed);
    hooks.onSigned(journey.environment);
    failPoint('move.signed');
    if (answer.status === 'signed') await bringHome(journey, answer);
  }

  /** Awaits what may have moved the money, though the stream does not know it. True where that ended the move. */
  async function isDecidedBy(
    flight: Omit<Flight, 'transaction'>,
    journey: Journey,
    known: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
  ): Promise<boolean> {
    const { signature, lastValidBlockHeight } = flight;
    const watched = { signature, lastValidBlockHeight, transaction: undefined };
    const { outcome } = await landing(journey, chain, watched);
    if (outcome === 'executed') {
      const judging = judge(chain, signature, known.terms, feePayer.address);
      const verdict = await untilAborted(journey.signal, judging);
      if (verdict === 'undecided')
        throw new Error(`No node tells what ${signature} did, though it is final.`);
      if (await isEndedBy(verdict, journey)) return true;
    }
    journey.undecided = undefined;
    signedHere.delete(journey.moveId);
    return false;
  }

  async function isEndedBy(found: Decided | undefined, journey: Journey): Promise<boolean> {
    if (!found) return false;
    if (found.outcome === 'moved') await confirm(journey, found);
    else await fail(journey, 'moves/failed_on_chain', found);
    return true;
  }

  /** The next attempt; undefined where the move stands otherwise now, or something must be awaited first. */
  async function nextSigned(
    journey: Journey,
    known: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
  ): Promise<SignedAttempt | undefined> {
    const found = await untilAborted(journey.signal, searchOnChain(chain, known.terms, feePayer.address));
    if (found?.outcome === 'undecided') {
      // Whatever is in a block by now has a blockhash of now or before.
      const { lastValidBlockHeight } = await untilAborted(journey.signal, chain.latestBlockhash());
      journey.undecided = { signature: found.signature, lastValidBlockHeight };
      return undefined;
    }
    if (await isEndedBy(found, journey)) return undefined;
    if (nextAttempt(known) > policy.mostAttempts) {
      await fail(journey, 'moves/never_landed', null);
      return undefined;
    }
    try {
      return await sign(journey, known, chain, feePayer);
    } catch (error) {
      if (!(error instanceof MoveRefusal)) journey.refused = undefined;
      else if (await isRefusedForGood(journey, error)) return undefined;
      throw error;
    }
  }

  async function sign(
    journey: Journey,
    known: RequestedMove,
    chain: Chain,
    feePayer: PayingWallet,
  ): Promise<SignedAttempt> {
    const { terms } = known;
    const { environment } = journey;
    const { moveId, appId, userId } = terms;
    const { unsigned, recent, rentPayer } = await untilAborted(
      journey.signal,
      prepareTransfer(sharingBlockhash(chain), terms, feePayer.address, policy, {
        walletAt: (address) => options.walletAt(environment, address),
        isSponsored: () => options.rentSponsor.spend({ moveId, appId, environment, userId }),
      }),
    );
    const attempt = nextAttempt(known);
    const { actor, correlationId } = decodeMetadata(journey.cause.metadata);
    const opening = { actor, purpose: `${moveId} attempt ${attempt}`, requestId: correlationId };
    const signWith = ({ ownerId, walletId }: PayingWallet) =>
      signer.sign({ ownerId, walletId, environment }, unsigned.message, opening);

    failPoint('move.beforeSign');
    const signatures = new Map<Address, Uint8Array>();
    for (const wallet of [terms.from, rentPayer ?? terms.from]) {
      if (signatures.has(wallet.address)) continue;
      const signature = await signWith(wallet).catch((error: unknown) => {
        if (!isLastingRefusal(error)) throw error;
        throw new MoveRefusal('moves/wallet_unavailable', error instanceof Error ? error.message : '');
      });
      signatures.set(wallet.address, signature);
    }
    signatures.set(feePayer.address, await signWith(feePayer));
    const transaction = unsigned.withSignatures(
      unsigned.signers.map((address) => {
        const signature = signatures.get(address);
        assert(signature, `nobody signs for ${address}`);
        return signature;
      }),
    );
    return {
      attempt,
      signature: signatureOf(transaction),
      transaction: Buffer.from(transaction).toString('base64'),
      blockhash: recent.blockhash,
      lastValidBlockHeight: recent.lastValidBlockHeight,
      feePayer: feePayer.address,
    };
  }

  /** A node may lag: only a reason that is met again and again is one. */
  async function isRefusedForGood(journey: Journey, { code }: MoveRefusal): Promise<boolean> {
    const times = journey.refused?.code === code ? journey.refused.times + 1 : 1;
    journey.refused = { code, times };
    if (times < policy.refusalsToFail) return false;
    await fail(journey, code, null);
    return true;
  }

  // While it may land

  async function bringHome(journey: Journey, { status, attempt }: MoveInFlight): Promise<void> {
    const chain = chainFor(journey);
    const transaction = Buffer.from(attempt.transaction, 'base64');
    const onAccepted = async () => {
      failPoint('move.sent');
      if (status === 'submitted') return;
      await execute(journey, { type: 'RecordSubmitted', ...nameOf(attempt) });
      failPoint('move.submitted');
    };
    const landed = await landing(journey, chain, { ...attempt, transaction }, onAccepted);
    if (landed.outcome === 'lost') return expire(journey, attempt);
    const { signature } = attempt;
    const { slot, error } = landed;
    if (error === null) await confirm(journey, { signature, slot });
    else await fail(journey, 'moves/failed_on_chain', { signature, slot });
  }

  async function expire(journey: Journey, attempt: SignedAttempt): Promise<void> {
    const { appended } = await execute(journey, { type: 'RecordExpired', ...nameOf(attempt) });
    if (appended.length === 0) return;
    hooks.onExpired(journey.environment);
    failPoint('move.expired');
  }

  async function landing(
    journey: Journey,
    chain: Chain,
    flight: Flight,
    onAccepted?: () => Promise<void>,
  ): Promise<Landing> {
    const { accepted, landed, leave } = flightsFor(chain, journey.environment).watch(flight);
    try {
      if (onAccepted) {
        const first = await untilAborted(journey.signal, Promise.race([accepted, landed]));
        if (first === 'accepted') await onAccepted();
      }
      return await untilAborted(journey.signal, landed);
    } finally {
      leave();
    }
  }

  function chainFor({ environment }: Journey): Chain {
    const chain = chainOf(environment);
    if (!chain) throw new NoChainError(`No chain is configured for ${environment}.`);
    return chain;
  }

  function flightsFor(chain: Chain, environment: Environment): Flights {
    const known = flightsOf.get(chain);
    if (known) return known;
    const onTrouble = (error: unknown) => hooks.onTrouble({ environment, moveId: undefined, error });
    const flights = createFlights({ chain, clock, policy, onTrouble });
    flightsOf.set(chain, flights);
    return flights;
  }

  // What is kept

  async function confirm(journey: Journey, { signature, slot }: OnChain): Promise<void> {
    failPoint('move.final');
    const { answer, appended } = await execute(journey, { type: 'ConfirmMove', signature, slot });
    failPoint('move.confirmed');
    if (appended.length > 0) hooks.onEnded(journey.environment, { code: null, ...requestOf(answer) });
  }

  async function fail(journey: Journey, code: MoveFailureCode, onChain: OnChain | null): Promise<void> {
    const failure = onChain && { signature: onChain.signature, slot: onChain.slot };
    const { answer, appended } = await execute(journey, { type: 'FailMove', code, onChain: failure });
    if (appended.length > 0) hooks.onEnded(journey.environment, { code, ...requestOf(answer) });
  }

  async function load({ stream }: Journey): Promise<KnownMove> {
    const known = await handler.load(move, stream, { deadlineMs: performance.now() + APPEND_WITHIN_MS });
    if (known.status === 'unknown') throw new Error(`${stream} is no longer in the log.`);
    return known;
  }

  function execute({ stream, cause }: Journey, command: MoveCommand) {
    const { actor, correlationId } = decodeMetadata(cause.metadata);
    const occurredAt = wallClock().toISOString();
    return handler.execute(move, stream, command, {
      metadata: { correlationId, causationId: cause.id, actor, occurredAt },
      deadlineMs: performance.now() + APPEND_WITHIN_MS,
    });
  }
}

const nameOf = ({ attempt, signature }: SignedAttempt) => ({ attempt, signature });

const requestOf = ({ terms }: KnownMove) => ({ requestedAt: terms.requestedAt });
