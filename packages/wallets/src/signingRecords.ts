/** The rows that say which transaction belongs to an idempotency key, and what was answered. */
import type { Pool } from '@coffer/database';

export interface SigningKey {
  readonly walletId: string;
  readonly operation: 'sign' | 'serverSign';
  /** `user:<id>`, `app:<id>`. */
  readonly askedBy: string;
  readonly idempotencyKey: string;
}

export interface KeptSigning {
  readonly transactionHash: Buffer;
  /** The body, once there is one. */
  readonly answer: string | null;
}

const IS_KEY = 'wallet_id = $1 and operation = $2 and asked_by = $3 and idempotency_key = $4';
const valuesOf = ({ walletId, operation, askedBy, idempotencyKey }: SigningKey) => [
  walletId,
  operation,
  askedBy,
  idempotencyKey,
];

export async function findSigning(pool: Pool, key: SigningKey): Promise<KeptSigning | undefined> {
  const { rows } = await pool.query<KeptSigning>(
    `select transaction_hash as "transactionHash", answer from records.wallets_signings where ${IS_KEY}`,
    valuesOf(key),
  );
  return rows[0];
}

/** The transaction of the key: this one, unless another came first. */
export async function claimSigning(
  pool: Pool,
  key: SigningKey,
  transactionHash: Buffer,
): Promise<KeptSigning> {
  await pool.query(
    `insert into records.wallets_signings (wallet_id, operation, asked_by, idempotency_key, transaction_hash)
     values ($1, $2, $3, $4, $5) on conflict do nothing`,
    [...valuesOf(key), transactionHash],
  );
  const kept = await findSigning(pool, key);
  if (!kept) throw new Error('The key was claimed but is not there.');
  return kept;
}

/** True if this answer is the one that was kept first. */
export async function keepAnswer(pool: Pool, key: SigningKey, answer: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update records.wallets_signings set answer = $5 where ${IS_KEY} and answer is null`,
    [...valuesOf(key), answer],
  );
  return rowCount === 1;
}
