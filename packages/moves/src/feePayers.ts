/** What fee payers hold: asked once for all moves that are about to be signed, or that wait for one of them. */
import type { MonotonicClock } from '@coffer/consumers';
import { type CoalescingCache, createCoalescingCache } from '@coffer/kernel';
import type { Address, Chain } from '@coffer/solana';

export interface PayerFunds {
  readonly lamports: bigint;
  /** What an account without data must hold. */
  readonly minimum: bigint;
}

/** The transaction itself is simulated before it is signed, so what is a moment old will do. */
const LIFETIME_MS = 1_000;
const MOST_REMEMBERED = 10_000;

export function createFundsSharing({
  nowMs,
}: Pick<MonotonicClock, 'nowMs'>): (chain: Chain, feePayer: Address) => Promise<PayerFunds> {
  const caches = new WeakMap<Chain, CoalescingCache<PayerFunds>>();

  return async (chain, feePayer) => {
    const cache = caches.get(chain) ?? cacheOf(chain);
    caches.set(chain, cache);
    return cache.get(feePayer);
  };

  function cacheOf(chain: Chain) {
    return createCoalescingCache({
      load: async (feePayer) => {
        const [[account], minimum] = await Promise.all([
          chain.accounts([feePayer], 'confirmed'),
          chain.rentMinimum(0),
        ]);
        return { lamports: account?.lamports ?? 0n, minimum };
      },
      lifetimeMs: LIFETIME_MS,
      maximumEntries: MOST_REMEMBERED,
      nowMs,
    });
  }
}
