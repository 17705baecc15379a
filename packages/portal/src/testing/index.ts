export * from './eventLog.ts';
export * from './portalWorld.ts';
