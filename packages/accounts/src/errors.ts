import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

/** What accounts refuse, in the order of the checks. Source: contract, Common rules and Money model. */
export const accountsErrors = {
  'accounts/idempotency_conflict': {
    status: 409,
    message: 'This reference was used before with other content; `field` names the first difference.',
  },
  'accounts/insufficient_funds': {
    status: 409,
    message: "The amount exceeds the account's available funds.",
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(accountsErrors);
