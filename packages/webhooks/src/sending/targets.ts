/** Where claimed deliveries go, with the secrets that sign them. Kept as long as the subscription does not change. */
import type { Pool } from '@coffer/database';
import type { Environment, SecretBox } from '@coffer/kernel';
import { LRUCache } from 'lru-cache';
import type { Reach } from './endpointUrl.ts';
import { type SigningKey, signingKey } from './signature.ts';

export interface Target {
  readonly url: string;
  readonly reach: Reach;
  /** The newest first. */
  readonly keysAt: (at: Date) => readonly SigningKey[];
}

export interface Targets {
  /** As they are now, without those that are no longer enabled. */
  readonly of: (subscriptionIds: Iterable<string>) => Promise<ReadonlyMap<string, Target>>;
}

/** What an endpoint for events of this environment, or of both, may be. */
export type ReachOf = (environment: Environment | null) => Reach;

/** A sealed secret opens for its own subscription only. */
export const secretPlace = (subscriptionId: string): string => `webhooks ${subscriptionId}`;

interface Row {
  readonly id: string;
  readonly epoch: string;
  readonly isKept: boolean;
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
    const current = signingKey(secretBox.open(secret, secretPlace(id)));
    const former = previousUntil && {
      until: previousUntil,
      key: signingKey(secretBox.open(previous, secretPlace(id))),
    };
    return {
      epoch,
      url,
      reach: reachOf(environment),
      keysAt: (at: Date) => (former && at < former.until ? [current, former.key] : [current]),
    };
  }

  return {
    async of(subscriptionIds) {
      const ids = [...new Set(subscriptionIds)];
      const { rows } = await pool.query<Row>({
        name: 'webhooks-targets',
        text: TARGETS,
        values: [ids, ids.map((id) => kept.peek(id)?.epoch ?? null)],
      });
      const found = new Map<string, Target>();
      for (const row of rows) {
        const target = row.isKept ? kept.get(row.id) : targetOf(row);
        if (!target) throw new Error('A target is kept until the next look.');
        kept.set(row.id, target);
        found.set(row.id, target);
      }
      return found;
    },
  };
}

/** Secrets only of those that have changed. */
const TARGETS = `
  select s.subscription_id as id, s.epoch, s.url, s.environment,
    s.epoch is not distinct from known.epoch as "isKept",
    case when s.epoch is distinct from known.epoch then s.secret end as secret,
    case when s.epoch is distinct from known.epoch then s.previous_secret end as previous,
    s.previous_secret_until as "previousUntil"
  from unnest($1::text[], $2::bigint[]) as known (subscription_id, epoch)
  join records.webhook_subscriptions s using (subscription_id)
  where s.state = 'enabled'`;
