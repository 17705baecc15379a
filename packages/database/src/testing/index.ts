export * from './doomedPool.ts';
