/** Transfers on the chain, each in its own stream. The chain worker carries them out. */
import { defineContext, someStream } from '@coffer/host';
import { ChainUnreachableError, chainErrors } from '@coffer/solana';
import { move } from './domain/move.ts';
import { movesErrors } from './errors.ts';
import { movesProjection } from './moves.projection.ts';

/** What the failures of chains mean to a caller; the chains themselves are given by the installation. */
export const chainContext = defineContext({
  name: 'chain',
  errors: chainErrors,
  errorOf: (error) => (error instanceof ChainUnreachableError ? { code: 'chain/unreachable' } : undefined),
});

export const movesContext = defineContext({
  name: 'moves',
  errors: movesErrors,
  streams: [someStream(move)],
  projections: { moves: movesProjection },
});
