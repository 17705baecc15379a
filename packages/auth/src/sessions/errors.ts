import { rejecterFor } from '@coffer/kernel';

/** Refusals of sign-in sessions. A bad access token is `auth/invalid_session`, which any endpoint may answer. */
export const sessionsErrors = {
  'auth/invalid_refresh_token': {
    status: 401,
    message: 'The refresh token is not valid. Sign in again.',
  },
  'auth/user_suspended': {
    status: 403,
    message: 'The user is suspended and cannot sign in.',
  },
  'auth/reauthentication_required': {
    status: 403,
    message: 'This needs a more recent sign-in. Sign in again, then repeat.',
  },
  'auth/standby_key_too_young': {
    status: 409,
    message:
      'Those who cache our public keys may not have the next one yet. Rotate at the time in the details, or at once if the key in use is compromised.',
  },
} as const;

export const reject = rejecterFor(sessionsErrors);
