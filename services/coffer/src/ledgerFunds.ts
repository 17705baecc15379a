/** Gives the ledger the accounts context, as far as holds of play sessions are concerned. */
import { type Accounts, holdOpenedBy } from '@coffer/accounts';
import type { Funds, SessionHoldId } from '@coffer/ledger';

export function ledgerFunds({ hold, closeHold, creditLateRollback }: Accounts): Funds {
  return {
    hold,
    closeHold,
    creditLateRollback,
    opened(event) {
      const held = holdOpenedBy(event);
      return held && isOfSession(held.holdId) ? { ...held, holdId: held.holdId } : undefined;
    },
  };
}

const isOfSession = (holdId: string): holdId is SessionHoldId => holdId.startsWith('session:');
