export { allConsumers, type SchemaConsumer } from './allConsumers.ts';
export type { AccountRow, BookEntry, BooksProjection } from './books.ts';
export * from './compare.ts';
export { type LiveReadModelsOptions, startLiveReadModels } from './liveReadModels.ts';
export {
  type CurrencyBooks,
  type CurrencyPlace,
  currencyBooks,
  type MoveRow,
  type MoveRowStatus,
  movesUnderWay,
  movesUnderWayOfWallet,
} from './moves.ts';
export { InvalidCursorError, type Page, type PageRequest } from './pages.ts';
export {
  listPlaySessions,
  type PlaySessionQuery,
  type PlaySessionRow,
  type PlaySessionStatus,
} from './playSessions.ts';
export {
  areOfThisLog,
  caughtUpSince,
  READ_MODELS_CONSUMER,
  type ReadModelProjections,
  readModelsOf,
  readModelsWork,
  startReadModels,
} from './readModels.ts';
export * from './rebuild.ts';
export { foldRow, type RowProjection, type StreamRow } from './rowProjection.ts';
export {
  createReadModels,
  createReadSchema,
  liveReadSchema,
  READ_SHAPE,
  readModelMigrations,
  readSchemaOf,
  readSchemas,
} from './schema.ts';
export * from './trialBalances.ts';
