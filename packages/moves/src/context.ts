/** Transfers on the chain, each a stream of its own. The chain worker carries them out. */
import { defineContext, someStream } from '@coffer/host';
import { move } from './domain/move.ts';
import { movesErrors } from './errors.ts';
import { movesProjection } from './moves.projection.ts';

export const movesContext = defineContext({
  name: 'moves',
  errors: movesErrors,
  streams: [someStream(move)],
  projections: { moves: movesProjection },
});
