export * from './useCustody.ts';
