/** Contexts in this process on a database of their own, for specs that speak HTTP. */

export { keptSnapshots } from '../snapshots.ts';
export * from './client.ts';
export * from './world.ts';
