export {
  createPostgresEventStore,
  migrateLog,
  type PostgresEventStoreOptions,
} from './postgresEventStore.ts';
export { createPostgresSnapshotStore, forgetSnapshots, migrateSnapshots } from './snapshotStore.ts';
