export { usersContext } from './context.ts';
export { type UserEvent, userEvents } from './domain/user.events.ts';
export type {
  Erasure,
  KnownUser,
  LinkedIdentity,
  RegisteredUser,
  Standing,
  UserState,
} from './domain/user.ts';
export { user, userStreamName } from './domain/user.ts';
export { usersErrors } from './errors.ts';
export { standingBody, USER_ERRORS } from './operatorRoutes.ts';
export * from './users.ts';
