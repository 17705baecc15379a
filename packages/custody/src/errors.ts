import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

/** What pools refuse, in the order of the checks. Source: docs/api.md, Custody. */
export const custodyErrors = {
  'custody/not_found': {
    status: 404,
    message: 'Pool escrow is not enabled for this app (setting poolEscrowEnabled).',
  },
  'custody/unknown_currency': {
    status: 404,
    message: 'The app has no currency with this id.',
  },
  'custody/pool_not_found': {
    status: 404,
    message: 'No stake was ever locked in this pool in this app and environment.',
  },
  'custody/bet_not_found': {
    status: 404,
    message: 'The pool has no such bet. Lock its stake first.',
  },
  'custody/idempotency_conflict': {
    status: 409,
    message: 'This key was used before with other content; `field` names the first difference.',
  },
  'custody/lock_released': {
    status: 409,
    message:
      'The stake was released, and its funds are available again. Void the bet, or lock it under another betId.',
  },
  'custody/pool_closed': {
    status: 409,
    message: 'The pool is settled or refunded, as `status` says.',
  },
  'custody/currency_mismatch': {
    status: 409,
    message: 'The pool has another currency: that of its first stake, in `currency`.',
  },
  'custody/pool_full': {
    status: 409,
    message: 'The pool has 20,000 stakes, which is the most that one decision can settle.',
  },
  'custody/duplicate_payout': {
    status: 409,
    message: 'Two payouts name the bet `betId`.',
  },
  'custody/unknown_bet': {
    status: 409,
    message: 'The pool has no bet `betId` of this user.',
  },
  'custody/bet_not_confirmed': {
    status: 409,
    message: 'The stake of `betId` is not confirmed, or was released: it takes no part in the settlement.',
  },
  'custody/conservation_violated': {
    status: 409,
    message: 'Rake and payouts must together be exactly the confirmed stakes.',
  },
  'custody/insufficient_funds': {
    status: 409,
    message: "The stake exceeds the player's available funds.",
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(custodyErrors);
