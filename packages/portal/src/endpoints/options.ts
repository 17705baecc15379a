/** The dependencies that each group of the portal's endpoints picks from. */
import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import type { Clock, Environment, SecretBox } from '@coffer/kernel';
import type { AdminTransaction } from '../adminActions.ts';
import type { AppDirectory } from '../appDirectory.ts';
import type { Currency } from '../currencies.ts';
import type { PortalTokens } from '../portalTokens.ts';
import type { ReadModelTasks } from '../readModelTasks.ts';
import type { EventSkips } from '../skips.ts';

/** What the portal reads from the event store; it never writes to it. */
export type LogReader = Pick<EventStore, 'readAll' | 'readStream' | 'head' | 'parsePosition' | 'placeAt'>;

/** The chain, as far as a currency must exist on it. */
export interface Mints {
  /** Called with each currency before it is added, possibly again. Idempotent. */
  readonly ensure: (currency: Currency) => Promise<void>;
  /** Why a mint cannot be used for a currency with this many decimals; undefined if there is no chain to ask. */
  readonly checkOn: (
    environment: Environment,
  ) => ((mint: string, decimals: number) => Promise<string | undefined>) | undefined;
  /** Codes that the call may fail with: those of the chain's own catalogue. */
  readonly errors: readonly string[];
}

export interface PortalOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  /** The instance that serves requests, so that they see a change at once. */
  readonly directory: AppDirectory;
  readonly eventStore: LogReader;
  readonly readModels: Pick<ReadModelTasks, 'listConsumers' | 'rebuild'>;
  readonly skips: Pick<EventSkips, 'skip'>;
  readonly mints: Mints;
  readonly transaction: AdminTransaction;
  readonly portalTokens: Pick<PortalTokens, 'issue'>;
}
