export { InvalidCursorError, type Page, type PageRequest } from './pages.ts';
export {
  listPlaySessions,
  type PlaySessionQuery,
  type PlaySessionRow,
  type PlaySessionStatus,
} from './playSessions.ts';
export {
  caughtUpSince,
  READ_MODELS_CONSUMER,
  type ReadModelProjections,
  readModelsWork,
  startReadModels,
} from './readModels.ts';
export { foldRow, type RowProjection } from './rowProjection.ts';
export { createReadSchema, liveReadSchema, migrateReadModels, READ_SHAPE, readSchemaOf } from './schema.ts';
