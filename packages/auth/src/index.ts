export * from './identities/index.ts';
export * from './migrate.ts';
export * from './types.ts';
