export {
  createEventStoreDbEventStore,
  type EventStoreDbEventStoreOptions,
} from './eventStoreDbEventStore.ts';
export { type Granted, grantReading } from './grantReading.ts';
