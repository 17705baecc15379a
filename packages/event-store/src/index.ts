export * from './afterFirstAppend.ts';
export * from './causedBy.ts';
export * from './commandHandler.ts';
export * from './commands.ts';
export * from './errors.ts';
export { type OurLog, ourLog } from './ourLog.ts';
export * from './port.ts';
export * from './readEvent.ts';
export type { KeptSnapshots, Snapshot, SnapshotPlace, SnapshotStore } from './snapshots.ts';
