export * from './advisoryLock.ts';
export * from './binaryArrays.ts';
export * from './migrate.ts';
export * from './pool.ts';
export * from './queries.ts';
export * from './serverVersion.ts';
export * from './uuids.ts';
