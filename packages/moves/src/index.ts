export { type MoveEvent, type MoveOperation, moveEvents, moveOperation } from './domain/move.events.ts';
export { move } from './domain/move.ts';
export * from './domain/moveIds.ts';
export { type MoveFailureCode, movesErrors } from './errors.ts';
export * from './moveBody.ts';
export { createMoves } from './moves.ts';
export * from './types.ts';
