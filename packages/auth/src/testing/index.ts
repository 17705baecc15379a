export { AUTH_CONTEXTS, type AuthGiven, authGiven, startAuthWorld } from './authContexts.ts';
export * from './signIns.ts';
