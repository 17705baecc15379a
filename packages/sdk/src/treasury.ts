/** The treasury group. Source: specification, Treasury; docs/api.md, Treasury. */
import type { TransferRequest, TreasuryBalance, TreasuryBalanceRequest, TreasuryMove } from './api.ts';
import { sdkError } from './cofferError.ts';
import type { Replayable } from './ledgerTypes.ts';
import { type PollOptions, pollUntil } from './polling.ts';
import { bodyOf, readerOf } from './resources.ts';
import type { CallOptions, Timing } from './retry.ts';
import { type Call, readBody } from './transport.ts';

/** A move that will not change any more. */
export type SettledMove = TreasuryMove & { readonly status: 'confirmed' | 'failed' };

/**
 * Every call rejects with a `CofferError`. A deposit or withdrawal is sent under one ref, generated if none
 * is given, until it is answered or the deadline passes. The answer is the move as requested: `settled` waits
 * for its end.
 */
export interface TreasuryClient {
  /** From the player's wallet to the treasury: it becomes available to the player. */
  readonly deposit: (request: TransferRequest, options?: CallOptions) => Promise<TreasuryMove & Replayable>;
  /** From the treasury to the player's wallet. Held at once; available again if the move fails. */
  readonly withdraw: (request: TransferRequest, options?: CallOptions) => Promise<TreasuryMove & Replayable>;
  readonly status: (ref: string, options?: CallOptions) => Promise<TreasuryMove>;
  /**
   * The move once it is confirmed or has failed; a failed one is an answer, with its `error`. Polls for two
   * minutes by default, even while the service cannot be reached. Then it rejects, with `sdk/not_settled` if
   * the move is still in flight; the move itself continues.
   */
  readonly settled: (ref: string, options?: PollOptions) => Promise<SettledMove>;
  readonly balance: (request: TreasuryBalanceRequest, options?: CallOptions) => Promise<TreasuryBalance>;
}

/** Longer than a transaction can wait for its block before it is lost and signed again. */
const SETTLED_WITHIN_MS = 120_000;

const readMove = readerOf('TreasuryMove');
const readBalance = readerOf('TreasuryBalance');

export function createTreasuryClient(call: Call, timing: Timing): TreasuryClient {
  const transfer = async (
    path: string,
    { ref = crypto.randomUUID(), ...request }: TransferRequest,
    options: CallOptions | undefined,
  ): Promise<TreasuryMove & Replayable> => {
    const body = bodyOf('TransferRequest', { ...request, ref });
    const reply = await call({ method: 'POST', path, body, key: { ref } }, options);
    return { ...readBody(reply, readMove), replayed: reply.replayed };
  };

  const status: TreasuryClient['status'] = async (ref, options) => {
    const reply = await call(
      { method: 'POST', path: '/treasury/status', body: { ref }, key: { ref } },
      options,
    );
    return readBody(reply, readMove);
  };

  return {
    deposit: async (request, options) => transfer('/treasury/deposit', request, options),
    withdraw: async (request, options) => transfer('/treasury/withdraw', request, options),
    status,
    settled: (ref, { deadlineMs = SETTLED_WITHIN_MS, ...options } = {}) =>
      pollUntil(
        timing,
        { deadlineMs, ...options },
        async (within) => {
          const move = await status(ref, within);
          return isSettled(move) ? { done: true, value: move } : { done: false, last: move };
        },
        ({ moveId, status: under }) =>
          sdkError('sdk/not_settled', {
            details: { moveId, status: under },
            ref,
            retryable: true,
            outcome: 'unknown',
          }),
      ),
    balance: async (request, options) => {
      const body = bodyOf('TreasuryBalanceRequest', request);
      return readBody(await call({ method: 'POST', path: '/treasury/balance', body }, options), readBalance);
    },
  };
}

const isSettled = (move: TreasuryMove): move is SettledMove =>
  move.status === 'confirmed' || move.status === 'failed';
