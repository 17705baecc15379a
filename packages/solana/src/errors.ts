import { type Environment, type Rejection, rejecterFor } from '@coffer/kernel';

/** Errors of the chain itself, as callers see them. */
export const chainErrors = {
  'chain/not_configured': {
    status: 503,
    message:
      'This service has no chain for this environment. The operator names its nodes in SOLANA_TEST_RPC_URL or SOLANA_LIVE_RPC_URL.',
  },
  'chain/unreachable': {
    status: 503,
    message: 'The chain does not answer. Nothing was kept; repeat the request after Retry-After.',
  },
} as const;

const reject = rejecterFor(chainErrors);

export const chainNotConfigured = (environment: Environment): Rejection =>
  reject('chain/not_configured', { environment });
