export { usersContext } from './context.ts';
export { type UserEvent, userEvents } from './domain/user.events.ts';
export type {
  KnownUser,
  Standing,
} from './domain/user.ts';
export { usersErrors } from './errors.ts';
export { standingBody, USER_ERRORS } from './operatorRoutes.ts';
export * from './users.ts';
