/** Where claimed deliveries go, with the secrets that sign them. Kept as long as the subscription does not change. */
import type { Pool } from '@coffer/database';
import type { Environment, SecretBox } from '@coffer/kernel';
import { LRUCache } from 'lru-cache';
import type { Claimed } from './deliveries.ts';
import type { Reach } from './endpointUrl.ts';

export interface Target {
  readonly url: string;
  readonly reach: Reach;
  /** The newest first. */
  readonly secretsAt: (at: Date) => readonly string[];
}

export interface Targets {
  /** Without those that are no longer enabled. */
  readonly of: (
    claimed: readonly Pick<Claimed, 'subscriptionId' | 'epoch'>[],
  ) => Promise<ReadonlyMap<string, Target>>;
}

/** What an endpoint for events of this environment, or of both, may be. */
export type ReachOf = (environment: Environment | null) => Reach;

/** A sealed secret opens for its own subscription only. */
export const secretPlace = (subscriptionId: string): string => `webhooks ${subscriptionId}`;

interface Row {
  readonly id: string;
  readonly epoch: string;
  readonly url: string;
  readonly environment: Environment | null;
  readonly secret: unknown;
  readonly previous: unknown;
  readonly previousUntil: Date | null;
}

const KEPT = 10_000;

export function createTargets({
  pool,
  secretBox,
  reachOf,
}: {
  readonly pool: Pool;
  readonly secretBox: SecretBox;
  readonly reachOf: ReachOf;
}): Targets {
  const kept = new LRUCache<string, Target & { readonly epoch: string }>({ max: KEPT });

  function targetOf({ id, epoch, url, environment, secret, previous, previousUntil }: Row) {
    const current = secretBox.open(secret, secretPlace(id));
    const former = previousUntil && {
      until: previousUntil,
      secret: secretBox.open(previous, secretPlace(id)),
    };
    return {
      epoch,
      url,
      reach: reachOf(environment),
      secretsAt: (at: Date) => (former && at < former.until ? [current, former.secret] : [current]),
    };
  }

  return {
    async of(claimed) {
      const found = new Map<string, Target>();
      const missing = new Set<string>();
      for (const { subscriptionId, epoch } of claimed) {
        const target = kept.get(subscriptionId);
        if (target?.epoch === epoch) found.set(subscriptionId, target);
        else missing.add(subscriptionId);
      }
      if (missing.size === 0) return found;
      const { rows } = await pool.query<Row>(
        `select subscription_id as id, epoch, url, environment, secret, previous_secret as previous,
           previous_secret_until as "previousUntil"
         from records.webhook_subscriptions where subscription_id = any($1) and state = 'enabled'`,
        [[...missing]],
      );
      for (const row of rows) {
        const target = targetOf(row);
        kept.set(row.id, target);
        found.set(row.id, target);
      }
      return found;
    },
  };
}
