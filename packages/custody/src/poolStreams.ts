/** Maps pools to their streams and back. */
import assert from 'node:assert/strict';
import { type AppPlace, parseStreamName } from '@coffer/kernel';
import { pool, poolStream } from './domain/pool.ts';

export type PoolPlace = Pick<AppPlace, 'environment' | 'appId'>;

/** A pool's id is the caller's, and requests are checked for its form. */
export const streamOf = ({ environment, appId }: PoolPlace, poolId: string) =>
  poolStream(environment, appId, poolId);

/** The pool that a stream belongs to; the stream of an event that this context wrote always belongs to one. */
export function poolPlace(stream: string) {
  const parts = parseStreamName(stream);
  assert(parts?.category === pool.category, `${stream} is not a pool`);
  return { environment: parts.environment, appId: parts.owner, poolId: parts.id };
}
