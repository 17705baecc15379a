export { insertRight } from './insertRight.ts';
export {
  createPostgresEventStore,
  logMigrations,
  migrateLog,
} from './postgresEventStore.ts';
export {
  createPostgresSnapshotStore,
  forgetOldSnapshots,
  forgetSnapshots,
  snapshotMigrations,
} from './snapshotStore.ts';
