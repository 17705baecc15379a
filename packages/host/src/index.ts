export type { ApiThreads } from './apiThreads.ts';
export { defineContext, type Platform, someStream } from './context.ts';
export { type Contexts, contexts } from './contexts.ts';
export { migrateAll, migrationsOf } from './facts.ts';
export { type Host, type HostOptions, startHost } from './host.ts';

export { type Role, roles } from './roles.ts';
export { isDatabaseAway } from './storeFailures.ts';
export { sweepEveryMinute } from './sweep.ts';
