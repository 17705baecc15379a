export * from './signIns.ts';
