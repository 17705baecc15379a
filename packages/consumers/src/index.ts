export * from './consumer.ts';
export {
  type Checkpoint,
  type ConsumerKey,
  type ConsumerRow,
  consumersTableSql,
  createConsumersTable,
  forgetPlace,
  leaseHolder,
  listConsumers,
  putPlace,
  readCheckpoint,
  retireConsumer,
} from './consumersTable.ts';
export { LostLeaseError, NotYetError, PoisonEventError } from './errors.ts';
export {
  type HeldProjections,
  holdProjections,
} from './heldProjections.ts';
export * from './inTurns.ts';
export { backOffMs, type MonotonicClock, monotonicClock } from './monotonicClock.ts';
export { type ConsumerStatus, hasReached, lagOf } from './progress.ts';
export { type Projection, projecting } from './projecting.ts';
export { reacting } from './reacting.ts';
export { actDeadlineMs, noticedIn, type Reaction } from './reaction.ts';
export type { ReactorOptions } from './reactor.ts';
export type { SkipLookup } from './skipLookup.ts';
export { consumerMigrations } from './stopsTable.ts';
export { type ConsumerWork, checkpointAt, type RunningWork, type Session } from './work.ts';
