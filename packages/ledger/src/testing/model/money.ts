/** The money model: a player's funds and holds, the house, and what the operator has put in. */
import type { Asking, OpenTerms } from '../operations.ts';
import {
  accountOf,
  add,
  type Decided,
  figures,
  first,
  firstDifference,
  type Ledger,
  openRequestOf,
  Refusal,
  type Request,
  replay,
  sessionOf,
  text,
} from './state.ts';

export function adjust(ledger: Ledger, operation: Asking<'credit' | 'debit'>): Decided {
  const { op, ref, currency } = operation;
  const amount = BigInt(operation.amount);
  const account = accountOf(ledger, operation);
  const request: Request = [
    ['operation', op],
    ['amount', operation.amount],
    ['reason', operation.reason],
  ];
  const seen = account.entries.get(ref);
  if (seen) {
    const field = firstDifference(seen.request, request);
    if (field) throw new Refusal('accounts/idempotency_conflict', { key: ref, field });
    return replay(seen.body);
  }
  if (op === 'debit' && amount > account.available) {
    throw new Refusal('accounts/insufficient_funds', {
      available: text(account.available),
      amount: text(amount),
    });
  }
  const change = op === 'credit' ? amount : -amount;
  const body = figures({ ...account, available: account.available + change });
  return first(body, () => {
    account.available += change;
    add(ledger.adjustments, currency, change);
    account.entries.set(ref, { request, body });
  });
}

/** The step of an open that sets the funds apart, once per session. */
export function hold(ledger: Ledger, operation: OpenTerms): Decided {
  const { lockAmount, transactionUuid, chosen } = operation;
  const account = accountOf(ledger, operation);
  const amount = BigInt(lockAmount);
  const request = openRequestOf(operation);
  const seen = account.holds.get(chosen.sessionId);
  if (seen) {
    const field = firstDifference(seen.request, request);
    if (field) throw new Refusal('ledger/transaction_conflict', { transactionUuid, field });
    return replay(figures(account));
  }
  if (amount > account.available) {
    throw new Refusal('ledger/insufficient_funds', {
      available: text(account.available),
      amount: lockAmount,
    });
  }
  const { available, held } = account;
  return first(figures({ available: available - amount, held: held + amount }), () => {
    account.available -= amount;
    account.held += amount;
    account.holds.set(chosen.sessionId, { amount, request, payout: undefined });
  });
}

/** The step that gives the player what is left: after a settlement, or after an open that lost to another. */
export function closeHold(ledger: Ledger, { userId, currency, sessionId }: Asking<'closeHold'>): Decided {
  const account = accountOf(ledger, { userId, currency });
  const opened = account.holds.get(sessionId);
  if (!opened) throw new Error(`not taught: closing what ${userId} never held`);
  const { amount } = opened;
  if (opened.payout !== undefined) return replay({ held: text(amount), payout: text(opened.payout) });
  const session = sessionOf(ledger, sessionId);
  const isOwn = session.owner.userId === userId && session.owner.currency === currency;
  if (isOwn && !session.settledBody) throw new Error(`not taught: closing the hold of open ${sessionId}`);
  const payout = isOwn ? session.balance : amount;
  return first({ held: text(amount), payout: text(payout) }, () => {
    opened.payout = payout;
    account.held -= amount;
    account.available += payout;
    add(ledger.house, currency, amount - payout);
  });
}

/** The step of a late rollback in which the house pays. */
export function creditRollback(ledger: Ledger, operation: Asking<'creditRollback'>): Decided {
  const { sessionId, transactionUuid } = operation;
  const { owner, late } = sessionOf(ledger, sessionId);
  const due = late.get(transactionUuid);
  if (!due) throw new Error(`not taught: paying ${transactionUuid}, which rolled nothing back late`);
  const account = accountOf(ledger, owner);
  if (due.paid) return replay({ amount: text(due.stake) });
  const { available, held } = account;
  return first({ amount: text(due.stake), ...figures({ available: available + due.stake, held }) }, () => {
    due.paid = true;
    account.available += due.stake;
    add(ledger.house, owner.currency, -due.stake);
  });
}

export const figuresOf = (ledger: Ledger, owner: Asking<'figures'>): Decided =>
  first(figures(accountOf(ledger, owner)));
