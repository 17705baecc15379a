export * from './embeddedPostgres.ts';
export * from './errors.ts';
export type { Logger } from './logger.ts';
export { acquireDataFolder, type Ownership, type OwnershipOptions } from './ownership.ts';
export { removeDataFolder } from './place.ts';
