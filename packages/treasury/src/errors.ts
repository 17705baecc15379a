import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

/** What the treasury refuses, in the order of the checks. Source: docs/api.md, Treasury. */
export const treasuryErrors = {
  'treasury/unknown_currency': {
    status: 404,
    message: 'The app has no currency with this id.',
  },
  'treasury/move_not_found': {
    status: 404,
    message: 'No deposit or withdrawal was requested under this ref in this app and environment.',
  },
  'treasury/idempotency_conflict': {
    status: 409,
    message: 'This ref was used before with other content; `field` names the first difference.',
  },
  'treasury/currency_not_on_chain': {
    status: 409,
    message: 'The currency has no mint in this environment: it can be played with, but not moved.',
  },
  'treasury/recipient_refused': {
    status: 409,
    message: 'The address that would be paid is not a wallet on the chain; `reason` says what it is.',
  },
  'treasury/mint_not_supported': {
    status: 409,
    message: "Tokens of this currency's mint cannot be moved; `reason` says why.",
  },
  'treasury/account_frozen': {
    status: 409,
    message: 'The issuer of the token has frozen the account.',
  },
  'treasury/insufficient_wallet_funds': {
    status: 409,
    message: "The user's wallet holds less than the amount.",
  },
  'treasury/insufficient_treasury': {
    status: 409,
    message:
      'On the chain, the treasury holds less than the amount. Fund it and send the same request again.',
  },
  'treasury/below_rent_minimum': {
    status: 409,
    message:
      'The transfer would leave one of the wallets with more than nothing but less than `minimum`, which the chain requires of an account.',
  },
  'treasury/insufficient_funds': {
    status: 409,
    message: "The amount exceeds the player's available funds.",
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(treasuryErrors);
