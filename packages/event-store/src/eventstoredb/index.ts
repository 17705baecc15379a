export {
  createEventStoreDbEventStore,
  type EventStoreDbEventStoreOptions,
} from './eventStoreDbEventStore.ts';
