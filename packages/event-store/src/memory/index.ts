export {
  type AppendFault,
  createMemoryEventStore,
  type MemoryEventStoreOptions,
} from './memoryEventStore.ts';
export { createMemoryLog, type MemoryLog } from './memoryLog.ts';
export * from './memorySnapshotStore.ts';
