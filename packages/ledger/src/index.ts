export { ledgerContext } from './context.ts';
export * from './domain/playSession.answers.ts';
export * from './domain/playSession.events.ts';
export type * from './domain/playSession.state.ts';
export {
  playSession,
  playSessionStream,
} from './domain/playSession.ts';
export { playSessionsProjection } from './playSessions.projection.ts';
export { transactionUseOf } from './transactionUse.ts';
