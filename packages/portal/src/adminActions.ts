/** What operators have done, recorded in the very transaction that does it. */
import { type Client, type Pool, withTransaction } from '@coffer/database';
import type { Clock } from '@coffer/kernel';

interface AdminContext {
  readonly requestId: string;
  readonly actor: string;
}

export interface AdminChange {
  readonly client: Client;
  /** The instant of this change. */
  readonly at: Date;
  /** Records what was done. The details must contain no secret. */
  readonly record: (
    action: string,
    /** Null if it concerns no app. */
    appId: string | null,
    details: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
}

export type AdminTransaction = <Result>(
  context: AdminContext,
  work: (change: AdminChange) => Promise<Result>,
) => Promise<Result>;

export function createAdminTransaction(pool: Pool, clock: Clock): AdminTransaction {
  return (context, work) =>
    withTransaction(pool, (client) => {
      const at = clock();
      return work({
        client,
        at,
        record: async (action, appId, details) => {
          await client.query(
            `insert into records.admin_actions (at, actor, request_id, action, app_id, details)
             values ($1, $2, $3, $4, $5, $6)`,
            [at, context.actor, context.requestId, action, appId, details],
          );
        },
      });
    });
}
