export * from './embeddedPostgres.ts';
export * from './errors.ts';
export { removeDataFolder } from './place.ts';
