export { type MoveEvent, type MoveOperation, moveEvents, moveOperation } from './domain/move.events.ts';
export * from './domain/moveIds.ts';
export * from './types.ts';
