export * from './givenWhenThen.ts';
export * from './postgres.ts';
