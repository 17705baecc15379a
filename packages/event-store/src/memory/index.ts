export {
  type AppendFault,
  createMemoryEventStore,
} from './memoryEventStore.ts';
export { createMemoryLog, type MemoryLog } from './memoryLog.ts';
export * from './memorySnapshotStore.ts';
