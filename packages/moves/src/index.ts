export { type MoveEvent, type MoveOperation, moveEvents, moveOperation } from './domain/move.events.ts';
export * from './domain/moveIds.ts';
export { type MoveFailureCode, moveErrorOf, movesErrors } from './errors.ts';
export { createMoves } from './moves.ts';
export * from './types.ts';
