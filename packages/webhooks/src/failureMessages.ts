/**
 * What webhooks say of why a move has failed. These texts are in bodies that are signed and numbered: a replay by any
 * release must give the same bytes, so none ever changes, also where the catalogue of errors has found better words.
 */
import type { MoveFailureCode } from '@coffer/moves';

const MESSAGES: Readonly<Record<MoveFailureCode, string>> = {
  'moves/wallet_unavailable':
    'A wallet of the move is no longer in use: it was exported or migrated. Nothing was moved.',
  'moves/mint_not_supported':
    'There is no such token on this chain, or it is of a kind that can take back or withhold what is moved. Nothing was moved.',
  'moves/recipient_refused':
    'The recipient is not a wallet that can be paid: a token account, a program, or the paying wallet itself. Nothing was moved.',
  'moves/source_frozen': 'The issuer of the token has frozen the paying account. Nothing was moved.',
  'moves/insufficient_source_funds': 'The paying wallet holds less than the amount. Nothing was moved.',
  'moves/below_rent_minimum':
    'The transfer would leave an account below the minimum balance of the chain. Nothing was moved.',
  'moves/rent_not_sponsored':
    'The recipient no longer had an account for the token when the transfer was due to be signed, and neither the wallet nor, within its caps, the app could pay for one. Nothing was moved.',
  'moves/refused_by_chain':
    'The chain would have refused the transfer each time it was tried. Nothing was moved.',
  'moves/failed_on_chain': 'The transfer was executed and failed. Only its fee was moved.',
  'moves/never_landed': 'No attempt got into a block, however often it was signed. Nothing was moved.',
};

/** Codes of other releases have no text, and never get one. */
export const failureMessage = (code: string): string =>
  new Map<string, string>(Object.entries(MESSAGES)).get(code) ?? code;
