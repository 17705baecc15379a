import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the wallets context, in order of precedence. */
export const walletsErrors = {
  'wallets/server_signing_disabled': {
    status: 403,
    message: 'This app does not let its server sign for users. Set serverSigningEnabled to change that.',
  },
  'wallets/not_found': {
    status: 404,
    message: "There is no such wallet in this app's scope and environment. Check the id and the key used.",
  },
  'wallets/withdrawal_not_found': {
    status: 404,
    message: 'There is no such withdrawal from this wallet.',
  },
  'wallets/unknown_currency': {
    status: 404,
    message: 'The app has no such currency. Name it by its integer id here.',
  },
  'wallets/idempotency_conflict': {
    status: 409,
    message: 'This key was used before with other content; `field` names the first difference.',
  },
  'wallets/export_expired': {
    status: 409,
    message: 'This export was more than 24 hours ago: the key was destroyed here, and only its user has it.',
  },
  'wallets/not_active': {
    status: 409,
    message: 'This wallet is no longer in use. GET /wallets/me returns the one that is.',
  },
  'wallets/invalid_recipient_key': {
    status: 400,
    message:
      'The recipientPublicKey is not an X25519 public key that can be sealed for. Make a new key pair.',
  },
  'wallets/export_not_allowed': {
    status: 409,
    message: 'The wallet cannot be exported now; `reasons` say why. See GET /wallets/:id/export/preflight.',
  },
  'wallets/no_wallet': {
    status: 409,
    message: 'The user has no active wallet in this environment. The first sign-in creates it.',
  },
  'wallets/currency_not_on_chain': {
    status: 409,
    message: 'The currency has no mint in this environment, so it cannot be moved on the chain.',
  },
  'wallets/own_address': {
    status: 400,
    message:
      'The address belongs to the app itself: what a player sends there is credited to nobody. To make a deposit, the app calls POST /treasury/deposit.',
  },
  'wallets/invalid_address': {
    status: 400,
    message: 'The address is not a wallet that can be paid; `reason` says what it is.',
  },
  'wallets/mint_not_supported': {
    status: 409,
    message: 'Tokens of this mint cannot be moved; `reason` says why.',
  },
  'wallets/account_frozen': {
    status: 409,
    message: 'The issuer of the token has frozen the account.',
  },
  'wallets/insufficient_funds': {
    status: 409,
    message: 'The wallet holds less than the amount.',
  },
  'wallets/below_rent_minimum': {
    status: 409,
    message:
      'The transfer would leave the wallet or the recipient with less than `minimum`, which the chain requires of an account. Send everything or leave more, or, if it is the recipient who would have less, send at least `minimum`.',
  },
  'wallets/rent_not_sponsored': {
    status: 409,
    message:
      'The recipient has no account for this token, and the app pays for no more today. Send `lamports` of SOL to the wallet, which then pays for it, or try again tomorrow (UTC). Nothing was recorded.',
  },
  'wallets/invalid_transaction': {
    status: 400,
    message: 'This is not an executable legacy or version 0 transaction; details say what is wrong with it.',
  },
  'wallets/transaction_refused': {
    status: 403,
    message: 'This transaction does what a wallet kept here never signs; details list the reasons.',
  },
  'wallets/program_not_allowed': {
    status: 403,
    message: "The transaction calls programs that are not in this app's programAllowList; details list them.",
  },
  'wallets/simulation_failed': {
    status: 409,
    message: 'The transaction would fail in the current state; details give the reason. Nothing was signed.',
  },
  'wallets/keys_unavailable': {
    status: 503,
    message:
      'This service does not have the master key for this environment. Set COFFER_MASTER_KEYS with every version in use, and restart it.',
  },
  'wallets/no_newer_master_key': {
    status: 409,
    message:
      'There is no newer master key to rotate to. Add one with a higher version to COFFER_MASTER_KEYS of every process, restart them and repeat.',
  },
} as const;

export const reject = rejecterFor(walletsErrors);
