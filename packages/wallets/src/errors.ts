import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the wallets area, in order of precedence. */
export const walletsErrors = {
  'wallets/server_signing_disabled': {
    status: 403,
    message: 'This app does not let its server sign for users. Set serverSigningEnabled to change that.',
  },
  'wallets/not_found': {
    status: 404,
    message:
      'There is no such wallet in the scope and environment of this app. Check the id and the key used.',
  },
  'wallets/withdrawal_not_found': {
    status: 404,
    message: 'There is no such withdrawal from this wallet.',
  },
  'wallets/unknown_currency': {
    status: 404,
    message: 'The app has no such currency. Currencies are named by their integer ids here.',
  },
  'wallets/idempotency_conflict': {
    status: 409,
    message: 'This key was used before with other content; `field` names the first difference.',
  },
  'wallets/export_expired': {
    status: 409,
    message: 'This export was more than 24 hours ago: the key was destroyed here and is only with its user.',
  },
  'wallets/not_active': {
    status: 409,
    message: 'This wallet is no longer in use. GET /wallets/me answers the one that is.',
  },
  'wallets/invalid_recipient_key': {
    status: 400,
    message:
      'The recipientPublicKey is no X25519 public key that anything can be sealed for. Make a fresh key pair.',
  },
  'wallets/export_not_allowed': {
    status: 409,
    message: 'The wallet cannot be exported now; `reasons` say why. See GET /wallets/:id/export/preflight.',
  },
  'wallets/no_wallet': {
    status: 409,
    message: 'The user has no active wallet in this environment. It comes with the first sign-in.',
  },
  'wallets/currency_not_on_chain': {
    status: 409,
    message: 'The currency has no mint in this environment, so nothing of it can be moved on the chain.',
  },
  'wallets/own_address': {
    status: 400,
    message:
      "The address is one of the app itself: what a player sends there is in nobody's books. To deposit, the app asks for POST /treasury/deposit.",
  },
  'wallets/invalid_address': {
    status: 400,
    message: 'The address is no wallet that can be paid; `reason` says what it is.',
  },
  'wallets/mint_not_supported': {
    status: 409,
    message: 'Tokens of this mint are not moved; `reason` says why.',
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
      'The transfer would leave the wallet or the recipient with less than the chain asks of an account, which is `minimum`. Send all of it, or leave more.',
  },
  'wallets/rent_not_sponsored': {
    status: 409,
    message:
      'The recipient has no account for this token, and the app pays for no more of them today. Send `lamports` of SOL to the wallet, which then pays for it, or come back tomorrow (UTC). Nothing was kept.',
  },
  'wallets/invalid_transaction': {
    status: 400,
    message:
      'This is no legacy or version 0 transaction that could be executed; details say what is wrong with it.',
  },
  'wallets/transaction_refused': {
    status: 403,
    message: 'This transaction does what a wallet kept here never signs; details list the reasons.',
  },
  'wallets/program_not_allowed': {
    status: 403,
    message:
      'The transaction calls programs that are not in the programAllowList of this app; details list them.',
  },
  'wallets/simulation_failed': {
    status: 409,
    message: 'The transaction would fail as things are now; details carry the reason. Nothing was signed.',
  },
  'wallets/keys_unavailable': {
    status: 503,
    message:
      'This service does not hold the master key that is needed for this environment. Set COFFER_MASTER_KEYS with every version in use and start it again.',
  },
  'wallets/no_newer_master_key': {
    status: 409,
    message:
      'There is no newer master key to rotate to. Add one with a higher version to COFFER_MASTER_KEYS of every process, start them again and repeat.',
  },
} as const;

export const reject = rejecterFor(walletsErrors);
