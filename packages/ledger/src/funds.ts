/** What the ledger needs of a player's account. The service gives it the accounts context. */
import type { CommandContext, StreamEvent } from '@coffer/event-store';
import type { Environment } from '@coffer/kernel';

export interface PlayerAccount {
  readonly environment: Environment;
  readonly appId: string;
  readonly userId: string;
  readonly currencyId: number;
}

export type SessionHoldId = `session:${string}`;
export type RollbackEntryId = `rollback:${string}`;

export type SessionHoldResult =
  | { readonly outcome: 'held'; readonly cause: StreamEvent }
  | {
      readonly outcome: 'alreadyHeld';
      readonly hold: { readonly amount: bigint; readonly request: Readonly<Record<string, string>> };
      readonly cause: StreamEvent;
    }
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'insufficient'; readonly available: bigint };

export interface Funds {
  hold(
    account: PlayerAccount,
    order: {
      readonly holdId: SessionHoldId;
      readonly amount: bigint;
      readonly purpose: 'session';
      readonly request: Readonly<Record<string, string>>;
    },
    context: CommandContext,
  ): Promise<SessionHoldResult>;

  closeHold(
    account: PlayerAccount,
    close: { readonly holdId: SessionHoldId; readonly payout: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void>;

  creditLateRollback(
    account: PlayerAccount,
    entry: { readonly entryId: RollbackEntryId; readonly amount: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void>;

  /** The hold that an account's event opened for a play session; undefined for every other event. */
  readonly opened: (event: StreamEvent) => OpenedSessionHold | undefined;
}

export interface OpenedSessionHold {
  readonly account: PlayerAccount;
  readonly holdId: SessionHoldId;
  readonly amount: bigint;
  readonly request: Readonly<Record<string, string>>;
}
