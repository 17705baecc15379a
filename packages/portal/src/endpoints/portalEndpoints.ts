/** The admin API, used by the operator's command line. Source: contract, The command line. */
import type { Endpoint } from '@coffer/http';
import { createAdminTransaction } from '../adminActions.ts';
import { appEndpoints } from './apps.ts';
import { currencyEndpoints } from './currencies.ts';
import { keyEndpoints } from './keys.ts';
import type { PortalOptions } from './options.ts';
import { projectionEndpoints } from './projections.ts';
import { settingEndpoints } from './settings.ts';
import { streamEndpoints } from './streams.ts';
import { tokenEndpoints } from './tokens.ts';

export function portalEndpoints(dependencies: Omit<PortalOptions, 'transaction'>): readonly Endpoint[] {
  const { pool, clock } = dependencies;
  const options = { ...dependencies, transaction: createAdminTransaction(pool, clock) };
  return [
    ...appEndpoints(options),
    ...keyEndpoints(options),
    ...currencyEndpoints(options),
    ...settingEndpoints(options),
    ...streamEndpoints(options),
    ...projectionEndpoints(options),
    ...tokenEndpoints(options),
  ];
}
