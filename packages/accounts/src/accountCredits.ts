/** What follows from a fact elsewhere and makes money available to a player, once for each fact. */

import { type CommandHandler, causedBy, type StreamEvent } from '@coffer/event-store';
import type { AccountKey } from '@coffer/kernel';
import type { EntryReason } from './domain/account.events.ts';
import { account, accountStreamOf } from './domain/account.ts';
import { depositEntryId, type EntryId, earningsEntryId } from './domain/accountIds.ts';

export function createAccountCredits(handler: Pick<CommandHandler, 'execute'>) {
  return { creditLateRollback, creditDeposit, creditEarnings };

  /** A stake given back after its session was settled: the house pays it into the available funds. */
  async function creditLateRollback(
    key: AccountKey,
    entry: { readonly entryId: EntryId; readonly amount: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void> {
    await creditFrom(cause, key, { ...entry, reason: 'rollback' }, deadlineMs);
  }

  /** A deposit confirmed by the chain: it becomes available. */
  async function creditDeposit(
    key: AccountKey,
    { ref, amount }: { readonly ref: string; readonly amount: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void> {
    const entry = { entryId: depositEntryId(ref), amount, reason: 'deposit' } as const;
    await creditFrom(cause, key, entry, deadlineMs);
  }

  /** Referral earnings withdrawn: they become available. */
  async function creditEarnings(
    key: AccountKey,
    { idemKey, amount }: { readonly idemKey: string; readonly amount: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void> {
    const entry = { entryId: earningsEntryId(idemKey), amount, reason: 'earnings' } as const;
    await creditFrom(cause, key, entry, deadlineMs);
  }

  async function creditFrom(
    cause: StreamEvent,
    key: AccountKey,
    entry: { readonly entryId: EntryId; readonly amount: bigint; readonly reason: EntryReason },
    deadlineMs: number,
  ): Promise<void> {
    const stream = accountStreamOf(key);
    const context = causedBy(cause, stream, deadlineMs);
    await handler.execute(account, stream, { type: 'CreditAccount', ...entry }, context);
  }
}
