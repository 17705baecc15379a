export * from './postgres.ts';
