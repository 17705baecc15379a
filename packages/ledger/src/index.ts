export * from './domain/playSession.answers.ts';
export * from './domain/playSession.events.ts';
export type * from './domain/playSession.state.ts';
export {
  MAX_SESSION_WRITES,
  openDifference,
  type PlaySessionCommand,
  playSession,
  playSessionStream,
} from './domain/playSession.ts';
export { ledgerErrors } from './errors.ts';
