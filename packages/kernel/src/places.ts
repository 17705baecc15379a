import type { Environment } from './environment.ts';

/** An app in one of its environments, as the request's key or session determines it. */
export interface AppPlace {
  readonly appId: string;
  /** The apps of a scope share users, identities and wallets. */
  readonly scopeId: string;
  readonly environment: Environment;
}

/** A user's place: apps share their scope, environments share nothing. */
export interface UserPlace {
  readonly environment: Environment;
  readonly scopeId: string;
  readonly userId: string;
}
