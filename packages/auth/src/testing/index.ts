export { type AuthGiven, startAuthWorld } from './authContexts.ts';
export * from './signIns.ts';
