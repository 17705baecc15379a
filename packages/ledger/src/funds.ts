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

  /** What an account event did to a hold of a play session, or for a late rollback; undefined for others. */
  readonly opened: (event: StreamEvent) => OpenedSessionHold | undefined;
  readonly closed: (event: StreamEvent) => SessionHold | undefined;
  readonly credited: (event: StreamEvent) => LateCredit | undefined;
}

export interface SessionHold {
  readonly account: PlayerAccount;
  readonly holdId: SessionHoldId;
}

export interface OpenedSessionHold extends SessionHold {
  readonly amount: bigint;
  readonly request: Readonly<Record<string, string>>;
}

export interface LateCredit {
  readonly account: PlayerAccount;
  readonly entryId: RollbackEntryId;
}
