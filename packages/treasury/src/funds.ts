/** What the treasury needs of a player's account. The service gives it the accounts context. */
import type { CommandContext, StreamEvent } from '@coffer/event-store';
import type { Environment } from '@coffer/kernel';

export interface PlayerAccount {
  readonly environment: Environment;
  readonly appId: string;
  readonly userId: string;
  readonly currencyId: number;
}

export type CashOutHoldId = `cashout:${string}`;
export type DepositEntryId = `deposit:${string}`;

export const cashOutHoldId = (ref: string): CashOutHoldId => `cashout:${ref}`;
export const depositEntryId = (ref: string): DepositEntryId => `deposit:${ref}`;

type Deadline = Pick<CommandContext, 'deadlineMs'>;

interface HeldFor {
  readonly amount: bigint;
  /** The whole order. */
  readonly request: Readonly<Record<string, string>>;
}

export type CashOutHoldResult =
  | { readonly outcome: 'held'; readonly cause: StreamEvent }
  | { readonly outcome: 'alreadyHeld'; readonly hold: HeldFor; readonly cause: StreamEvent }
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'insufficient'; readonly available: bigint };

export type CashOutHoldStanding =
  | { readonly standing: 'none' }
  | { readonly standing: 'open'; readonly hold: HeldFor; readonly cause: StreamEvent }
  | { readonly standing: 'closed' };

export interface Funds {
  hold(
    account: PlayerAccount,
    order: HeldFor & { readonly holdId: CashOutHoldId; readonly purpose: 'cashout' },
    context: CommandContext,
  ): Promise<CashOutHoldResult>;

  /** Confirmed current. */
  findHold(account: PlayerAccount, holdId: CashOutHoldId, deadline: Deadline): Promise<CashOutHoldStanding>;

  closeHold(
    account: PlayerAccount,
    close: { readonly holdId: CashOutHoldId; readonly payout: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void>;

  creditDeposit(
    account: PlayerAccount,
    entry: { readonly ref: string; readonly amount: bigint },
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<void>;

  /** Confirmed current. */
  isBooked(account: PlayerAccount, entryId: DepositEntryId, deadline: Deadline): Promise<boolean>;

  /** All of one moment, current. */
  external(
    account: PlayerAccount,
    deadline: Deadline,
  ): Promise<{
    readonly available: bigint;
    readonly held: bigint;
    readonly deposited: bigint;
    readonly withdrawn: bigint;
  }>;

  /** The hold that an account's event opened for a cash-out; undefined for every other event. */
  readonly opened: (event: StreamEvent) => OpenedCashOutHold | undefined;
}

export interface OpenedCashOutHold extends HeldFor {
  readonly account: PlayerAccount;
  readonly holdId: CashOutHoldId;
}
