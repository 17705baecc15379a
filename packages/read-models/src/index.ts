export { allConsumers, type SchemaConsumer } from './allConsumers.ts';
export type { AccountRow, BookEntry, BooksProjection, OtherPostings } from './books.ts';
export * from './compare.ts';
export { startLiveReadModels } from './liveReadModels.ts';
export {
  currencyBooks,
  type MoveRow,
  movesUnderWayOfWallet,
} from './moves.ts';
export { decodeCursor, encodeCursor } from './pages.ts';
export {
  listPlaySessions,
  type PlaySessionRow,
} from './playSessions.ts';
export {
  creditsDone,
  listPools,
  type PoolRow,
  type PoolsProjection,
  poolsWithOverdueStakes,
} from './pools.ts';
export { readModelsReached, rowsAsNow } from './reached.ts';
export {
  areOfThisLog,
  caughtUpSince,
  READ_MODELS_CONSUMER,
  type ReadModelProjections,
  readModelsOf,
  readModelsWork,
} from './readModels.ts';
export * from './rebuild.ts';
export {
  type CommissionRow,
  type EarningsEntryRow,
  type EarningsRow,
  listDescendants,
  listEarningsEntries,
  listReferees,
  type RefereeRow,
  type ReferralsProjection,
} from './referrals.ts';
export { foldRow, type RowProjection } from './rowProjection.ts';
export {
  createReadModels,
  createReadSchema,
  liveReadSchema,
  READ_SHAPE,
  readModelMigrations,
  readSchemas,
} from './schema.ts';
export * from './trialBalances.ts';
