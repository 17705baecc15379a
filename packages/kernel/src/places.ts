import type { Environment } from './environment.ts';

/** An app in one of its environments, as the key or the session of a request says. */
export interface AppPlace {
  readonly appId: string;
  /** Its apps share users, identities and wallets. */
  readonly scopeId: string;
  readonly environment: Environment;
}

/** A user's place: the scope is shared by its apps, the environment by nothing. */
export interface UserPlace {
  readonly environment: Environment;
  readonly scopeId: string;
  readonly userId: string;
}
