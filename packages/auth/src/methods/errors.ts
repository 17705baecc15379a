/** The refusals of sign-in methods. Source: contract, Sign-in and sessions. */
import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

export const authMethodsErrors = {
  'auth/method_not_allowed': {
    status: 403,
    message: 'This sign-in method is not enabled for the app, or lacks a setting that it needs.',
  },
  'auth/challenge_invalid': {
    status: 401,
    message: 'The challenge is unknown, used, expired or altered. Ask for a new one.',
  },
  'auth/signature_invalid': {
    status: 401,
    message:
      "The signature is not this key's signature over the challenge's message. Ask for a new challenge.",
  },
  'auth/launch_data_invalid': {
    status: 401,
    message: 'The launch data was not made by the messenger for this app, or is too old.',
  },
  'auth/code_invalid': {
    status: 401,
    message: 'The code is wrong, used, expired or unknown.',
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(authMethodsErrors);
