/** Gives the treasury the accounts context, as far as deposits and cash-outs are concerned. */
import { type Accounts, holdOpenedBy } from '@coffer/accounts';
import type { CashOutHoldId, Funds } from '@coffer/treasury';

export function treasuryFunds({
  hold,
  findHold,
  closeHold,
  creditDeposit,
  isBooked,
  external,
}: Accounts): Funds {
  return {
    hold,
    findHold,
    closeHold,
    creditDeposit,
    isBooked,
    external,
    opened(event) {
      const held = holdOpenedBy(event);
      return held && isOfCashOut(held.holdId) ? { ...held, holdId: held.holdId } : undefined;
    },
  };
}

const isOfCashOut = (holdId: string): holdId is CashOutHoldId => holdId.startsWith('cashout:');
