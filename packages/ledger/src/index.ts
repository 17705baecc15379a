export { ledgerContext } from './context.ts';
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
export { sessionDues, sessionHoldAct } from './playSession.reactions.ts';
export { playSessionsProjection } from './playSessions.projection.ts';
export { createPlaySessions, type PlaySessions } from './playSessions.ts';
export { createListSessions } from './sessionList.ts';
export { createListTransactions } from './transactions.ts';
export { transactionUseOf } from './transactionUse.ts';
