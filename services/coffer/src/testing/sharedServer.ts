/** What other users of a shared EventStoreDB could write: bypassing all our checks. */
import { randomUUID } from 'node:crypto';
import { type Pool, withTransaction } from '@coffer/database';

export interface StrangeEvent {
  readonly stream: string;
  readonly type: string;
  readonly data?: string;
  readonly metadata?: string;
}

/** Names and types that were seen to stop consumers, and similar ones. */
export const OF_OTHERS: readonly StrangeEvent[] = [
  { stream: 'bank-1', type: 'AccountCredited', data: '{"iban":"DE00"}' },
  { stream: 'crm', type: 'UserErased', data: '{"id":7}' },
  { stream: 'crm', type: 'IdentityClaimed' },
  { stream: 'crm', type: 'WalletProvisioned' },
  { stream: 'order-2', type: 'BetPlaced', data: '{}' },
  { stream: 'order-2', type: 'FundsHeld', data: 'no JSON' },
  { stream: 'order-2', type: 'HoldClosed', data: '[]' },
  { stream: 'order-2', type: 'MoveConfirmed', metadata: 'no JSON' },
  { stream: 'account-live.bank.1', type: 'AccountCredited' },
  { stream: `account-prod.app_${'0'.repeat(26)}.usr_${'0'.repeat(26)}.2`, type: 'FundsHeld' },
  { stream: `playSession-live.app_${'0'.repeat(25)}.ses_1`, type: 'SessionSettled' },
  { stream: `user-live.app_${'0'.repeat(26)}.usr_${'0'.repeat(26)}`, type: 'UserErased' },
  { stream: `move-live.app_${'0'.repeat(26)}.a b`, type: 'MoveRequested' },
];

/** Appends an event to its stream and to the log; returns its id. */
export async function writeAsAnother(
  pool: Pool,
  { stream, type, data = '{}', metadata = '{}' }: StrangeEvent,
): Promise<string> {
  // Not a version that any standard defines: every server accepts it.
  const id = randomUUID().replace(/-4(...)-./, '-0$1-0');
  await withTransaction(pool, async (client) => {
    // The same lock as in the function that appends.
    await client.query('select pg_advisory_xact_lock(7263000)');
    await client.query(
      `insert into log.events (position, stream, revision, id, type, data, metadata, created)
       select coalesce(max(position), 0) + 1, $1, count(*) filter (where stream = $1), $2, $3, $4, $5, clock_timestamp()
         from log.events`,
      [stream, id, type, data, metadata],
    );
  });
  return id;
}

export async function writeAllOfOthers(pool: Pool): Promise<void> {
  for (const event of OF_OTHERS) await writeAsAnother(pool, event);
}
