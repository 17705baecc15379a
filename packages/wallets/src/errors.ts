import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the wallets area, in order of precedence. */
export const walletsErrors = {
  'wallets/not_found': {
    status: 404,
    message:
      'There is no such wallet in the scope and environment of this app. Check the id and the key used.',
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
