/**
 * The log is put back to before its last events, as from a backup: what was signed and sent is no longer in
 * any stream, but still on the chain. Source: docs/operating/restore.md.
 */
import type { Pool } from '@coffer/database';
import { type Client, requireStatus } from '@coffer/host/testing';
import { readSchemas } from '@coffer/read-models';
import { expireLeases } from '@coffer/read-models/testing';
import type { Asked } from './callers.ts';
import type { Nodes } from './nodes.ts';
import type { Scene } from './scene.ts';
import type { Tally } from './tally.ts';

const AMOUNT = 1_000_000n;
const MOST_DEPOSITS = 12;

export interface OlderLogOptions {
  readonly nodes: Nodes;
  readonly pool: Pool;
  readonly client: Client;
  readonly scene: Scene;
  readonly faults: Tally;
  readonly deaths: Tally;
}

/**
 * No worker may be alive. Leaves no worker or service; returns the requested moves that have not ended yet.
 */
export async function putLogBack(options: OlderLogOptions): Promise<readonly Asked[]> {
  const { nodes, pool, client, scene, faults, deaths } = options;
  const asked = await requestDeposits(client, scene);
  const { rows } = await pool.query<{ head: string }>('select max(position) as head from log.events');
  const worker = await nodes.start(['chain-worker'], 'move.sent');
  await expireLeases(pool, 'records');
  await worker.ended;
  deaths.add('move.sent');
  faults.add('process killed');

  await nodes.killAll();
  for (const schema of ['records', ...(await readSchemas(pool))]) await expireLeases(pool, schema);
  const lost = await pool.query<{ type: string }>(
    'delete from log.events where position > $1 returning type',
    [rows[0]?.head],
  );
  for (const { type } of lost.rows)
    if (type === 'TransactionSigned') faults.add('signature lost with the log');
  await nodes.command(['consumers', 'reset']);
  return asked;
}

async function requestDeposits(client: Client, { users, currencies, secretKey }: Scene) {
  const asked: Asked[] = [];
  for (const [index, user] of users.slice(0, MOST_DEPOSITS).entries()) {
    const currency = currencies[index % currencies.length];
    if (!currency) continue;
    const ref = `before-restore-${index}`;
    const body = { userId: user.userId, currency: currency.id, amount: `${AMOUNT}`, ref };
    const answer = await client.post('/treasury/deposit', body, { key: secretKey });
    // An emptied wallet cannot pay.
    if (answer.status === 409) continue;
    const { text: accepted } = requireStatus(answer, 201);
    const outcome = { accepted, refused: undefined, isUncertain: false, ended: undefined };
    asked.push({ ref, kind: 'deposit', user, currency, amount: AMOUNT, ...outcome });
  }
  return asked;
}
