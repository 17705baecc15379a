export { poolEvents } from '../domain/pool.events.ts';
export type { Pool } from '../domain/pool.state.ts';
export { pool as poolType, poolStream } from '../domain/pool.ts';
export { custodyErrors } from '../errors.ts';
export * from './stakesOf.ts';
export * from './useCustody.ts';
