/** A pool for a snapshot and back. Disposable: another version of the stream type ignores it. */
import { type EncodedState, figure } from '@coffer/kernel';
import { z } from 'zod';
import type { Pool } from './pool.state.ts';
import { decodeStakes, encodeStakes } from './stakes.ts';

const known = {
  revision: z.int(),
  currencyId: z.int(),
  locked: figure,
  confirmed: figure,
  releasedCount: z.int(),
  stakes: z.object({ count: z.int(), changes: z.int() }),
};
const end = { credits: z.int(), revision: z.int() };

const stored = z.discriminatedUnion('status', [
  z.object({ status: z.literal('unknown'), revision: z.literal(-1) }),
  z.object({ status: z.literal('open'), ...known }),
  z.object({
    status: z.literal('settled'),
    ...known,
    end: z.object({ staked: figure, rake: figure, ...end, named: z.int(), released: z.int() }),
  }),
  z.object({
    status: z.literal('refunded'),
    ...known,
    end: z.object({ refunded: figure, ...end, reason: z.string().optional() }),
  }),
]);

export function encodePool(pool: Pool): EncodedState {
  if (pool.status === 'unknown') return { facts: pool };
  const { bytes, ...stakes } = encodeStakes(pool.stakes);
  if (pool.status !== 'settled') return { facts: z.encode(stored, { ...pool, stakes }), bytes };
  const { named, payouts, released } = pool.end;
  const facts = { ...pool, stakes, end: { ...pool.end, named: named.length, released: released.length } };
  const ofEnd = [payouts, named, released].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  );
  return { facts: z.encode(stored, facts), bytes: Buffer.concat([...ofEnd, bytes]) };
}

export function decodePool({ facts, bytes = new Uint8Array() }: EncodedState): Pool {
  const pool = stored.parse(facts);
  if (pool.status === 'unknown') return pool;
  const stakesFrom = (from: number) => decodeStakes({ ...pool.stakes, bytes: bytes.subarray(from) });
  if (pool.status === 'open') return { ...pool, stakes: stakesFrom(0) };
  if (pool.status === 'refunded') {
    return { ...pool, stakes: stakesFrom(0), end: { ...pool.end, reason: pool.end.reason } };
  }
  let from = 0;
  const next = (length: number): ArrayBuffer => {
    from += length;
    // A copy: numbers of 4 and 8 bytes need an aligned place.
    return Uint8Array.from(bytes.subarray(from - length, from)).buffer;
  };
  const payouts = new BigUint64Array(next(pool.end.named * 8));
  const named = new Uint32Array(next(pool.end.named * 4));
  const released = new Uint32Array(next(pool.end.released * 4));
  return { ...pool, stakes: stakesFrom(from), end: { ...pool.end, payouts, named, released } };
}
