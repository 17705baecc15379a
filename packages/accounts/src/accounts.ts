/**
 * What the other contexts and the operator do with a player's funds: each a command on one account stream.
 * Source: contract, Money model; architecture, Processes.
 */
import assert from 'node:assert/strict';
import {
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  type Outcome,
  type RecordedEvent,
  readEvent,
  type StreamEvent,
} from '@coffer/event-store';
import { type AccountKey, fold } from '@coffer/kernel';
import { createAccountCredits } from './accountCredits.ts';
import type { HoldOrder } from './domain/account.events.ts';
import { account, accountStreamOf } from './domain/account.ts';
import { adjustmentEntryId, type EntryId, type HoldId } from './domain/accountIds.ts';
import { holdUnder, type OpenHold } from './domain/holds.ts';
import type { accountsErrors } from './errors.ts';

/** Base units. */
export interface AccountFigures {
  readonly available: bigint;
  readonly held: bigint;
}

/** In addition, the totals deposited from the chain and cashed out to it. Base units. */
export interface ExternalFigures extends AccountFigures {
  readonly deposited: bigint;
  readonly withdrawn: bigint;
}

/** The state of a hold. */
export type HoldStanding =
  | { readonly standing: 'none' }
  /** With the event that opened it, which determines the act that follows. */
  | { readonly standing: 'open'; readonly hold: OpenHold; readonly cause: StreamEvent }
  | { readonly standing: 'closed'; readonly payout: bigint };

/** An operator's adjustment, idempotent on `ref` for this account. */
export interface Adjustment {
  readonly ref: string;
  readonly amount: bigint;
  /** The operator's own words. */
  readonly note?: string | undefined;
}

/** What the rules refuse an adjustment with. */
export const ADJUSTMENT_ERRORS = {
  credit: ['accounts/idempotency_conflict'],
  debit: ['accounts/idempotency_conflict', 'accounts/insufficient_funds'],
} as const satisfies Record<string, readonly (keyof typeof accountsErrors)[]>;

export type HoldResult =
  /** The event that holds the funds, which determines the act that follows. */
  | { readonly outcome: 'held'; readonly cause: StreamEvent }
  /** Held before; comparing the requests is up to the caller. */
  | { readonly outcome: 'alreadyHeld'; readonly hold: OpenHold; readonly cause: StreamEvent }
  /** Held, and given back or paid out, before: this hold id is dead, and nothing may build on it. */
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'insufficient'; readonly available: bigint };

export interface HoldClosing {
  readonly holdId: HoldId;
  readonly payout: bigint;
  /** Different for each of the holds on one account that the same cause closes. */
  readonly nth?: number | undefined;
}

export type Accounts = ReturnType<typeof createAccounts>;

export function createAccounts(dependencies: {
  readonly handler: CommandHandler;
  readonly store: Pick<EventStore, 'readStream'>;
}) {
  const { handler, store } = dependencies;

  return {
    /** Available and held, current. Zero for an account without events. */
    async figures(key: AccountKey, context: Deadline): Promise<AccountFigures> {
      const { available, held } = await handler.load(account, accountStreamOf(key), context);
      return { available, held };
    },

    /** Available and held just after the last of the account's events that pass the test. */
    async figuresAt(key: AccountKey, wasThere: (event: RecordedEvent) => boolean): Promise<AccountFigures> {
      let state = account.initialState;
      for await (const page of store.readStream(accountStreamOf(key))) {
        const past = page.filter(wasThere);
        state = fold(account, state, past);
        // A stream is in the order of the log, so nothing after the first event that fails the test can pass it.
        if (past.length < page.length) break;
      }
      return { available: state.available, held: state.held };
    },

    /** Also the deposits and cash-outs in the books, all at the same moment, current. */
    async external(key: AccountKey, context: Deadline): Promise<ExternalFigures> {
      const state = await handler.load(account, accountStreamOf(key), context);
      const { available, held, deposited, withdrawn } = state;
      return { available, held, deposited, withdrawn };
    },

    /** Whether the entry is in the books, from a confirmed current state. */
    async isBooked(key: AccountKey, entryId: EntryId, context: Deadline): Promise<boolean> {
      return (await handler.load(account, accountStreamOf(key), context)).entries.has(entryId);
    },

    /** Has the account's current state at hand, so that the next command on it need not first be refused for its age. */
    async readAhead(key: AccountKey, context: Deadline): Promise<void> {
      await handler.load(account, accountStreamOf(key), context);
    },

    /** From a confirmed current state. */
    async findHold(key: AccountKey, holdId: HoldId, context: Deadline): Promise<HoldStanding> {
      const stream = accountStreamOf(key);
      const { holds } = await handler.load(account, stream, context);
      const hold = holdUnder(holds, holdId);
      if (!hold) return { standing: 'none' };
      if (hold.payout !== undefined) return { standing: 'closed', payout: hold.payout };
      return { standing: 'open', hold, cause: await readEvent(store, stream, hold.heldAtRevision) };
    },

    /** Adds to the available funds, once per `ref`. Throws `accounts/idempotency_conflict`. */
    credit(key: AccountKey, { ref, amount, note }: Adjustment, context: CommandContext) {
      return adjust(key, 'CreditAccount', ref, amount, note, context);
    },

    /** Takes from the available funds, once per `ref`. Also throws `accounts/insufficient_funds`. */
    debit(key: AccountKey, { ref, amount, note }: Adjustment, context: CommandContext) {
      return adjust(key, 'DebitAccount', ref, amount, note, context);
    },

    /** The reserve step of reserve, act, close. */
    async hold(key: AccountKey, order: HoldOrder, context: CommandContext): Promise<HoldResult> {
      const stream = accountStreamOf(key);
      const { answer, appended } = await handler.execute(
        account,
        stream,
        { type: 'HoldFunds', ...order },
        context,
      );
      switch (answer.outcome) {
        case 'held': {
          const [cause] = appended;
          assert(cause, `holding ${order.holdId} on ${stream} left no event`);
          return { outcome: 'held', cause };
        }
        case 'alreadyHeld': {
          const cause = await readEvent(store, stream, answer.hold.heldAtRevision);
          return { outcome: 'alreadyHeld', hold: answer.hold, cause };
        }
        case 'closed':
        case 'insufficient':
          return answer;
        default:
          throw new assert.AssertionError({ message: `not an answer to a hold: ${answer.outcome}` });
      }
    },

    /** The close step: the payout becomes available, the rest goes where the hold's purpose says. */
    async closeHold(
      key: AccountKey,
      { nth, ...close }: HoldClosing,
      cause: StreamEvent,
      deadlineMs: number,
    ): Promise<void> {
      const stream = accountStreamOf(key);
      const context = causedBy(cause, stream, deadlineMs, nth);
      await handler.execute(account, stream, { type: 'CloseHold', ...close }, context);
    },

    ...createAccountCredits(handler),
  };

  async function adjust(
    key: AccountKey,
    type: 'CreditAccount' | 'DebitAccount',
    ref: string,
    amount: bigint,
    note: string | undefined,
    context: CommandContext,
  ): Promise<Outcome<AccountFigures>> {
    const entry = { type, entryId: adjustmentEntryId(ref), amount, reason: 'adjustment', note } as const;
    const outcome = await handler.execute(account, accountStreamOf(key), entry, context);
    const { answer } = outcome;
    assert(answer.outcome === 'booked');
    return { ...outcome, answer: { available: answer.available, held: answer.held } };
  }
}
