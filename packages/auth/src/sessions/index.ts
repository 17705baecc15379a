export { DEFAULT_ISSUER } from './accessTokens.ts';
export { sessionsErrors } from './errors.ts';
export { signingKeyEndpoints } from './operatorRoutes.ts';
export { sessionEndpoints } from './routes.ts';
export { createSessionCredential } from './sessionCredential.ts';
export {
  createSessions,
  type Sessions,
} from './sessions.ts';
export { createSessionUsers } from './sessionUsers.ts';
export { createSigningKeys } from './signingKeys.ts';
