/** Contexts in this process with a database of their own, for specs that use HTTP. */

export { keptSnapshots } from '../snapshots.ts';
export * from './client.ts';
export * from './world.ts';
