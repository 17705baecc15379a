export {
  createPostgresEventStore,
  migrateLog,
  type PostgresEventStoreOptions,
} from './postgresEventStore.ts';
export { createPostgresSnapshotStore, migrateSnapshots } from './snapshotStore.ts';
