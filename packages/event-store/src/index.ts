export * from './afterFirstAppend.ts';
export * from './causedBy.ts';
export * from './commandHandler.ts';
export * from './errors.ts';
export { type OurLog, ourLog } from './ourLog.ts';
export * from './port.ts';
export type { Snapshot, SnapshotStore } from './snapshots.ts';
