/** One blockhash for all moves that are signed at about the same time. */
import type { MonotonicClock } from '@coffer/consumers';
import { type CoalescingCache, createCoalescingCache } from '@coffer/kernel';
import type { Chain, RecentBlockhash } from '@coffer/solana';
import type { MovePolicy } from './policy.ts';

/** Asks the chain for a blockhash once in a while. */
export function createBlockhashSharing(
  { nowMs }: Pick<MonotonicClock, 'nowMs'>,
  { blockhashLifetimeMs }: Pick<MovePolicy, 'blockhashLifetimeMs'>,
): (chain: Chain) => Chain {
  const caches = new WeakMap<Chain, CoalescingCache<RecentBlockhash>>();

  return (chain) => {
    const cache = caches.get(chain) ?? cacheOf(chain);
    caches.set(chain, cache);
    return { ...chain, latestBlockhash: async () => cache.get('latest') };
  };

  function cacheOf(chain: Chain) {
    return createCoalescingCache({
      load: chain.latestBlockhash,
      lifetimeMs: blockhashLifetimeMs,
      maximumEntries: 1,
      nowMs,
    });
  }
}
