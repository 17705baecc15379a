export {
  createEventStoreDbEventStore,
  type EventStoreDbEventStoreOptions,
} from './eventStoreDbEventStore.ts';
export { grantReading } from './grantReading.ts';
