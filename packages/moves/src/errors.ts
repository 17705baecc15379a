/**
 * Why moves fail for good: the `code` of `MoveFailed`, shown as the `error` of a move. The status is the one for a
 * refusal by the state of things; a request for the move itself answers 200.
 */
export const movesErrors = {
  'moves/wallet_unavailable': {
    status: 409,
    message: 'A wallet of the move is no longer in use: it was exported or migrated. Nothing was moved.',
  },
  'moves/mint_not_supported': {
    status: 409,
    message:
      'There is no such token on this chain, or it is of a kind that can take back or withhold what is moved. Nothing was moved.',
  },
  'moves/recipient_refused': {
    status: 409,
    message:
      'The recipient is not a wallet that can be paid: a token account, a program, or the paying wallet itself. Nothing was moved.',
  },
  'moves/source_frozen': {
    status: 409,
    message: 'The issuer of the token has frozen the paying account. Nothing was moved.',
  },
  'moves/insufficient_source_funds': {
    status: 409,
    message: 'The paying wallet holds less than the amount. Nothing was moved.',
  },
  'moves/below_rent_minimum': {
    status: 409,
    message: 'The transfer would leave an account below the minimum balance of the chain. Nothing was moved.',
  },
  'moves/rent_not_sponsored': {
    status: 409,
    message:
      'The recipient no longer had an account for the token when the transfer was due to be signed, and neither the wallet nor, within its caps, the app could pay for one. Nothing was moved.',
  },
  'moves/refused_by_chain': {
    status: 409,
    message: 'The chain would have refused the transfer each time it was tried. Nothing was moved.',
  },
  'moves/failed_on_chain': {
    status: 409,
    message: 'The transfer was executed and failed. Only its fee was moved.',
  },
  'moves/never_landed': {
    status: 409,
    message: 'No attempt got into a block, however often it was signed. Nothing was moved.',
  },
} as const;

/** The `code` of a `MoveFailed`. */
export type MoveFailureCode = keyof typeof movesErrors;
