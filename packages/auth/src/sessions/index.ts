export { DEFAULT_ISSUER } from './accessTokens.ts';
export { identityBody, sessionBody, userBody, walletBody } from './bodies.ts';
export { sessionsErrors } from './errors.ts';
export { type OperatorTransaction, type SigningKeyRoutes, signingKeyEndpoints } from './operatorRoutes.ts';
export { type SessionRoutes, sessionEndpoints } from './routes.ts';
export { createSessionCredential } from './sessionCredential.ts';
export {
  type CheckedSession,
  createSessions,
  type IssuedSession,
  type SessionHolder,
  type Sessions,
  type SessionsOptions,
} from './sessions.ts';
export { createSessionUsers, type SessionUsers, type ViewedUser, type ViewUser } from './sessionUsers.ts';
export { createSigningKeys, type KeySet, type SigningKeys, type SigningKeysOptions } from './signingKeys.ts';
