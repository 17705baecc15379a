/**
 * One player's off-chain funds in one currency: what is available, and what holds keep apart for a play
 * session, a stake or a cash-out. Source: contract, Money model.
 */
import assert from 'node:assert/strict';
import {
  type AccountKey,
  accountKeyedStream,
  type Decision,
  parseAccountKeyed,
  type StreamType,
} from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type AccountEvent, accountEvents, type EntryReason, type HoldOrder } from './account.events.ts';
import { decodeAccount, encodeAccount } from './account.snapshot.ts';
import { type Account, type Entry, initialState } from './account.state.ts';
import { callerKeyOf, type EntryId, type HoldId, purposeOf } from './accountIds.ts';
import { bytesOfHolds, holdUnder, type OpenHold, withClosed, withHold } from './holds.ts';

// Stream

const CATEGORY = 'account';

export const accountStreamOf = (key: AccountKey): string => accountKeyedStream(CATEGORY, key);

/** Whose account a stream is, or undefined for any other stream. */
export const parseAccountStream = (stream: string): AccountKey | undefined =>
  parseAccountKeyed(CATEGORY, stream);

// Commands and answers

interface EntryContent {
  readonly entryId: EntryId;
  readonly amount: bigint;
  readonly reason: EntryReason;
  readonly note?: string | undefined;
}

export type AccountCommand =
  | ({ readonly type: 'CreditAccount' } & EntryContent)
  | ({ readonly type: 'DebitAccount' } & EntryContent)
  | ({ readonly type: 'HoldFunds' } & HoldOrder)
  | { readonly type: 'CloseHold'; readonly holdId: HoldId; readonly payout: bigint };

export type AccountAnswer = EntryAnswer | HoldAnswer | CloseAnswer;

/** The balances just after the entry, even in a repeat much later. */
interface EntryAnswer {
  readonly outcome: 'booked';
  readonly available: bigint;
  readonly held: bigint;
}

/** The context that asked for the hold turns these into its own errors; only `held` is an event. */
type HoldAnswer =
  | { readonly outcome: 'held'; readonly available: bigint; readonly held: bigint }
  | { readonly outcome: 'alreadyHeld'; readonly hold: OpenHold }
  /** The hold existed and is closed: its id is dead, and the act that it was for must not run. */
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'insufficient'; readonly available: bigint };

interface CloseAnswer {
  readonly outcome: 'holdClosed';
  readonly payout: bigint;
}

// Decide

type AccountDecision = Decision<AccountEvent, AccountAnswer>;
type CommandOf<Type extends AccountCommand['type']> = Extract<AccountCommand, { type: Type }>;

function decide(account: Account, command: AccountCommand): AccountDecision {
  switch (command.type) {
    case 'CreditAccount':
      return enter(account, 'credit', command);
    case 'DebitAccount':
      return enter(account, 'debit', command);
    case 'HoldFunds':
      return holdFunds(account, command);
    case 'CloseHold':
      return closeHold(account, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

const ENTRY_KIND = { deposit: 'deposit', adjustment: 'adjust', earnings: 'earnings', rollback: 'rollback' };

function enter(account: Account, operation: Entry['operation'], content: EntryContent): AccountDecision {
  const { entryId, amount, reason, note } = content;
  assert(entryId.startsWith(`${ENTRY_KIND[reason]}:`), `${entryId} is not an id for the reason ${reason}`);
  assert(amount > 0n, 'an entry moves something');

  const seen = account.entries.get(entryId);
  if (seen) {
    const field = firstDifference(seen, operation, content);
    if (field) throw reject('accounts/idempotency_conflict', { key: callerKeyOf(entryId), field });
    return {
      events: [],
      answer: { outcome: 'booked', available: seen.available, held: seen.held },
      replayed: true,
    };
  }
  if (operation === 'debit' && amount > account.available) {
    throw reject('accounts/insufficient_funds', { available: account.available, amount });
  }

  const available = operation === 'credit' ? account.available + amount : account.available - amount;
  const { held } = account;
  return {
    events: [
      {
        type: operation === 'credit' ? 'AccountCredited' : 'AccountDebited',
        data: { entryId, amount, reason, ...(note === undefined ? {} : { note }), available, held },
      },
    ],
    answer: { outcome: 'booked', available, held },
  };
}

function firstDifference(
  seen: Entry,
  operation: Entry['operation'],
  { amount, reason, note }: EntryContent,
): string | undefined {
  if (seen.operation !== operation || seen.reason !== reason) return 'operation';
  if (seen.amount !== amount) return 'amount';
  if (seen.note !== note) return 'reason';
  return undefined;
}

function holdFunds(account: Account, command: CommandOf<'HoldFunds'>): AccountDecision {
  const { holdId, amount, purpose, request } = command;
  assert.equal(purposeOf(holdId), purpose, `${holdId} is not an id for the purpose ${purpose}`);
  // A session may be opened with nothing to play for: the open is based on its hold.
  assert(amount > 0n || (amount === 0n && purpose === 'session'), 'a hold keeps something apart');

  const known = holdUnder(account.holds, holdId);
  if (known?.payout !== undefined) return { events: [], answer: { outcome: 'closed' } };
  if (known) {
    const hold = { amount: known.amount, heldAtRevision: known.heldAtRevision };
    // Not a replay: another node may have closed the hold, so the answer needs confirming.
    return { events: [], answer: { outcome: 'alreadyHeld', hold } };
  }
  if (amount > account.available) {
    return { events: [], answer: { outcome: 'insufficient', available: account.available } };
  }

  return {
    events: [{ type: 'FundsHeld', data: { holdId, amount, purpose, request } }],
    answer: { outcome: 'held', available: account.available - amount, held: account.held + amount },
  };
}

function closeHold(account: Account, { holdId, payout }: CommandOf<'CloseHold'>): AccountDecision {
  assert(payout >= 0n, 'a payout is not negative');

  const answer: CloseAnswer = { outcome: 'holdClosed', payout };
  const hold = holdUnder(account.holds, holdId);
  assert(hold, `${holdId} was never held`);
  if (hold.payout !== undefined) {
    assert.equal(hold.payout, payout, `${holdId} was closed with another payout`);
    return { events: [], answer, replayed: true };
  }

  return { events: [{ type: 'HoldClosed', data: { holdId, held: hold.amount, payout } }], answer };
}

// Evolve

function evolve(account: Account, event: AccountEvent): Account {
  const revision = account.revision + 1;
  switch (event.type) {
    case 'AccountCredited':
    case 'AccountDebited': {
      const { entryId, amount, reason, note, available, held } = event.data;
      const operation = event.type === 'AccountCredited' ? 'credit' : 'debit';
      const change = operation === 'credit' ? amount : -amount;
      assert.equal(available, account.available + change);
      assert.equal(held, account.held);
      assert(!account.entries.has(entryId), 'an entry is booked once');
      return {
        ...account,
        revision,
        available,
        deposited: account.deposited + (reason === 'deposit' ? change : 0n),
        entries: account.entries.set(entryId, { operation, amount, reason, note, available, held, revision }),
      };
    }
    case 'FundsHeld': {
      const { holdId, amount } = event.data;
      return {
        ...account,
        revision,
        available: account.available - amount,
        held: account.held + amount,
        holds: withHold(account.holds, holdId, { amount, heldAtRevision: revision }),
      };
    }
    case 'HoldClosed': {
      const { holdId, held, payout } = event.data;
      assert.equal(holdUnder(account.holds, holdId)?.amount, held);
      return {
        ...account,
        revision,
        available: account.available + payout,
        held: account.held - held,
        withdrawn: account.withdrawn + (purposeOf(holdId) === 'cashout' ? held - payout : 0n),
        holds: withClosed(account.holds, holdId, payout),
      };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

// Stream type

/** Roughly, what the map keeps for each entry; the figures only have to bound the cache. */
function sizeOf({ entries, holds }: Account): number {
  return 1_000 + entries.size * 400 + bytesOfHolds(holds);
}

export const account: StreamType<AccountCommand, AccountEvent, Account, AccountAnswer> = {
  category: CATEGORY,
  version: 4,
  codec: accountEvents,
  initialState,
  decide,
  evolve,
  crossesThreads: true,
  sizeOf,
  snapshot: { encode: encodeAccount, decode: decodeAccount },
};
