/** The chains of the two environments, as far as an installation has them. */
import type { Environment } from '@coffer/kernel';
import type { Chain } from './port.ts';

export interface Chains {
  /** Undefined where there is none. */
  readonly find: (environment: Environment) => Chain | undefined;
  /** Throws `chain/not_configured`. */
  readonly of: (environment: Environment) => Chain;
}
