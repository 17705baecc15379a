import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

/** What referrals refuse, in the order of the checks. Source: docs/referrals.md. */
export const referralsErrors = {
  'referrals/unknown_currency': {
    status: 404,
    message: 'The app has no currency with this id.',
  },
  'referrals/code_already_issued': {
    status: 409,
    message: 'The user already has a referral code, which never changes.',
  },
  'referrals/code_taken': {
    status: 409,
    message: 'Another user of the app has this referral code. Choose another.',
  },
  'referrals/idempotency_conflict': {
    status: 409,
    message: 'This idemKey was used before with other content; `field` names the first difference.',
  },
  'referrals/insufficient_earnings': {
    status: 409,
    message: 'The amount exceeds what the user has earned and not withdrawn.',
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(referralsErrors);
