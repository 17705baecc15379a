export * from './amounts.ts';
export * from './clock.ts';
export * from './decider.ts';
export * from './environment.ts';
export * from './eventCodec.ts';
export * from './identifiers.ts';
export * from './rejection.ts';
export * from './streamName.ts';
