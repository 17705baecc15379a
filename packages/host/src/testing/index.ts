/** Contexts in this process with a database of their own, for specs that use HTTP. */

export * from './client.ts';
export * from './watch.ts';
export * from './world.ts';
