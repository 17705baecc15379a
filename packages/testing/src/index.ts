export * from './eventFixtures.ts';
export * from './eventStores.ts';
export * from './givenWhenThen.ts';
export * from './mailServer.ts';
export * from './postgres.ts';
export * from './random.ts';
export * from './storeGateways.ts';
export * from './waiting.ts';
