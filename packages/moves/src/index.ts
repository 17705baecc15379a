export { chainContext, movesContext } from './context.ts';
export { type MoveEvent, moveEvents } from './domain/move.events.ts';
export * from './domain/moveIds.ts';
export {
  createMoveDriver,
  type MoveDriverOptions,
} from './driver.ts';
export type { MoveFailureCode } from './errors.ts';
export type { MoveHooks } from './journey.ts';
export { carriesMoves, MOVE_REACTOR } from './move.reactions.ts';
export * from './moveBody.ts';
export { movesProjection } from './moves.projection.ts';
export { createMoves } from './moves.ts';
export { DEFAULT_POLICY, type MovePolicy } from './policy.ts';
export { isRentOfApp, type RentSponsor, type SponsoredMove, withRentPaid } from './rent.ts';
export { type Decided, judge, searchOnChain } from './search.ts';
export * from './types.ts';
