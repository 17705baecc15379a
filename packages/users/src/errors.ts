import { rejecterFor } from '@coffer/kernel';

/** Every refusal of the users context, in order of precedence. */
export const usersErrors = {
  'users/not_found': {
    status: 404,
    message: "There is no such user in this app's scope and environment. Check the id and the key used.",
  },
  'users/idempotency_conflict': {
    status: 409,
    message: 'This user id is already registered, through another app. Register under another id.',
  },
  'users/erased': {
    status: 409,
    message: 'The user was erased, which is final. The same person signing in again becomes a new user.',
  },
  'users/suspended': {
    status: 403,
    message: 'The user is suspended. Open play sessions may be finished; an operator can reinstate the user.',
  },
} as const;

export const reject = rejecterFor(usersErrors);
