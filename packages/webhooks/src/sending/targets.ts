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
  /** As they are now, without those that are no longer enabled. Undefined of one whose secret cannot be opened: it waits. */
  readonly of: (subscriptionIds: Iterable<string>) => Promise<ReadonlyMap<string, Target | undefined>>;
}

/** Nobody can sign with it. */
export interface UnreadableSecret {
  readonly subscriptionId: string;
  /** The former one is done without; without the current one nothing is sent. */
  readonly which: 'current' | 'former';
  readonly error: unknown;
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

interface TargetsOptions {
  readonly pool: Pool;
  readonly secretBox: SecretBox;
  readonly reachOf: ReachOf;
  /** Once for each change of a subscription, however often it is tried. */
  readonly onUnreadable: (secret: UnreadableSecret) => void;
}

export function createTargets({ pool, secretBox, reachOf, onUnreadable }: TargetsOptions): Targets {
  const kept = new LRUCache<string, Target & { readonly epoch: string }>({ max: KEPT });
  /** At which epoch. */
  const reported = new LRUCache<string, string>({ max: KEPT });

  function keyOf({ id, epoch, ...row }: Row, which: UnreadableSecret['which']): SigningKey | undefined {
    try {
      return signingKey(secretBox.open(which === 'current' ? row.secret : row.previous, secretPlace(id)));
    } catch (error) {
      const secret = `${which} ${id}`;
      if (reported.get(secret) !== epoch) onUnreadable({ subscriptionId: id, which, error });
      reported.set(secret, epoch);
      return undefined;
    }
  }

  function targetOf(row: Row) {
    const { epoch, url, environment, previousUntil } = row;
    const current = keyOf(row, 'current');
    if (!current) return undefined;
    let both: readonly SigningKey[] | undefined;
    const withFormer = (): readonly SigningKey[] => {
      const former = keyOf(row, 'former');
      return former ? [current, former] : [current];
    };
    return {
      epoch,
      url,
      reach: reachOf(environment),
      keysAt(at: Date) {
        if (!previousUntil || at >= previousUntil) return [current];
        both ??= withFormer();
        return both;
      },
    };
  }

  return {
    async of(subscriptionIds) {
      const known = new Map([...subscriptionIds].map((id) => [id, kept.get(id)]));
      const { rows } = await pool.query<Row>({
        name: 'webhooks-targets',
        text: TARGETS,
        values: [[...known.keys()], [...known.values()].map((target) => target?.epoch ?? null)],
      });
      const found = new Map<string, Target | undefined>();
      for (const row of rows) {
        const target = row.isKept ? known.get(row.id) : targetOf(row);
        if (target) kept.set(row.id, target);
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
