export * from './afterFirstAppend.ts';
export * from './causedBy.ts';
export * from './commandHandler.ts';
export * from './commands.ts';
export * from './dividedCommands.ts';
export { EncodedEvent } from './encodedEvent.ts';
export * from './errors.ts';
export { createKnownPlaces } from './knownPlaces.ts';
export { type LogRight, logRights } from './logRights.ts';
export { type OurLog, ourLog } from './ourLog.ts';
export * from './port.ts';
export * from './readEvent.ts';
export {
  type KeptSnapshot,
  type KeptSnapshots,
  type PackedState,
  packState,
  unpackState,
} from './snapshots.ts';
export type { StreamReturn } from './stateStats.ts';
export { anyTypeOf } from './works.ts';
