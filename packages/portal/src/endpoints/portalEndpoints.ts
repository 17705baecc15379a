/** The admin API: what the operator's command line talks to. Source: contract, The command line. */
import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import type { Endpoint } from '@coffer/http';
import type { Clock, Environment, SecretBox } from '@coffer/kernel';
import { type AdminTransaction, createAdminTransaction } from '../adminActions.ts';
import type { AppDirectory } from '../appDirectory.ts';
import type { Currency } from '../currencies.ts';
import { appEndpoints } from './apps.ts';
import { currencyEndpoints } from './currencies.ts';
import { keyEndpoints } from './keys.ts';
import { type PortalProjections, projectionEndpoints } from './projections.ts';
import { type PortalReconcile, reconcileEndpoints } from './reconcile.ts';
import { settingEndpoints } from './settings.ts';
import { streamEndpoints } from './streams.ts';
import { type PortalUsers, userEndpoints } from './users.ts';
import { type PortalWallets, walletEndpoints } from './wallets.ts';

/** What the portal reads of the event store; it never writes to it. */
export type LogReader = Pick<EventStore, 'readAll' | 'readStream' | 'parsePosition' | 'placeAt'>;

export interface PortalDependencies {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  /** The one that serves requests, so that a change is seen by them at once. */
  readonly directory: AppDirectory;
  readonly eventStore: LogReader;
  readonly users: PortalUsers;
  readonly wallets: PortalWallets;
  readonly reconcile: PortalReconcile;
  readonly projections: PortalProjections;
  /** Told of each currency before it is added, also again. Idempotent. */
  readonly onCurrency: (currency: Currency) => Promise<void>;
  /** Asks why a mint cannot be that of a currency of so many decimals; undefined where there is no chain to ask. */
  readonly mintCheck: (
    environment: Environment,
  ) => ((mint: string, decimals: number) => Promise<string | undefined>) | undefined;
}

/** What each group of endpoints picks from. */
export interface PortalOptions extends PortalDependencies {
  readonly transaction: AdminTransaction;
}

export function portalEndpoints(dependencies: PortalDependencies): readonly Endpoint[] {
  const { pool, clock } = dependencies;
  const options = { ...dependencies, transaction: createAdminTransaction(pool, clock) };
  return [
    ...appEndpoints(options),
    ...keyEndpoints(options),
    ...currencyEndpoints(options),
    ...settingEndpoints(options),
    ...userEndpoints(options),
    ...walletEndpoints(options),
    ...reconcileEndpoints(options),
    ...streamEndpoints(options),
    ...projectionEndpoints(options),
  ];
}
