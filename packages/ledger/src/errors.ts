import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

/** What the ledger refuses, in the order of the checks. Source: contract, Ledger. */
export const ledgerErrors = {
  'ledger/unknown_currency': {
    status: 404,
    message: 'The app has no currency with this code.',
  },
  'ledger/session_not_found': {
    status: 404,
    message: 'There is no such play session in this app and environment.',
  },
  'ledger/transaction_conflict': {
    status: 409,
    message: 'This transactionUuid was used before with other content; `field` names the first difference.',
  },
  'ledger/not_a_bet': {
    status: 409,
    message: 'The betTransactionUuid names a write in this session that is not a bet.',
  },
  'ledger/bet_rolled_back': {
    status: 409,
    message: 'The bet was rolled back, or its rollback came first: neither the bet nor a win for it counts.',
  },
  'ledger/bet_already_won': {
    status: 409,
    message: 'The bet has a win, so it can no longer be rolled back.',
  },
  'ledger/session_settled': {
    status: 409,
    message: 'The play session is settled and takes no bets or wins.',
  },
  'ledger/bet_not_found': {
    status: 404,
    message: 'The session has no such bet. Nothing was recorded: send the same win again after its bet.',
  },
  'ledger/session_full': {
    status: 409,
    message: 'The play session has reached its limit of writes. Settle it and open another.',
  },
  'ledger/insufficient_balance': {
    status: 409,
    message: 'The bet exceeds the session balance.',
  },
  'ledger/insufficient_funds': {
    status: 409,
    message: "The lockAmount exceeds the player's available funds.",
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(ledgerErrors);
