/** Periodically checks whether the chains answer and what the fee payers have left. */
import type { MonotonicClock } from '@coffer/consumers';
import { type Environment, environment } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import type { MoveMetrics } from './moveMetrics.ts';

export interface FeePayerPlace {
  readonly appId: string;
  readonly environment: Environment;
  readonly address: string;
}

export interface ChainWatchOptions {
  readonly chainOf: (environment: Environment) => Chain | undefined;
  readonly feePayers: () => Promise<readonly FeePayerPlace[]>;
  readonly lowLamports: bigint;
  /** Called once whenever it runs low or recovers; not if it has enough at first. */
  readonly onLow: (payer: FeePayerPlace & { readonly lamports: string }, isLow: boolean) => void;
  readonly clock: MonotonicClock;
  readonly metrics: Pick<MoveMetrics, 'isReachable' | 'feePayerHolds'>;
  readonly onTrouble: (error: unknown) => void;
}

const EVERY_MS = 30_000;
/** The most that one call takes. */
const ACCOUNTS_PER_CALL = 100;

export function watchChains(options: ChainWatchOptions): { readonly stop: () => Promise<void> } {
  const { chainOf, feePayers, lowLamports, onLow, clock, metrics, onTrouble } = options;
  const low = new Set<string>();
  let stopped = false;
  let cancel = () => {};
  let looking = look();
  return {
    async stop() {
      stopped = true;
      cancel();
      await looking;
    },
  };

  async function look(): Promise<void> {
    for (const where of environment.options) {
      const chain = chainOf(where);
      if (!chain || stopped) continue;
      try {
        await chain.latestBlockhash();
        metrics.isReachable(where, true);
        await lookAtFeePayers(chain, where);
      } catch (error) {
        metrics.isReachable(where, false);
        onTrouble(error);
      }
    }
    if (stopped) return;
    cancel = clock.after(EVERY_MS, () => {
      looking = look();
    });
  }

  async function lookAtFeePayers(chain: Chain, where: Environment): Promise<void> {
    const payers = (await feePayers()).filter((payer) => payer.environment === where);
    for (let at = 0; at < payers.length; at += ACCOUNTS_PER_CALL) {
      const some = payers.slice(at, at + ACCOUNTS_PER_CALL);
      const accounts = await chain.accounts(
        some.map(({ address }) => address),
        'confirmed',
      );
      some.forEach((payer, index) => {
        tell(payer, accounts[index]?.lamports ?? 0n);
      });
    }
  }

  function tell(payer: FeePayerPlace, lamports: bigint): void {
    const isLow = lamports < lowLamports;
    metrics.feePayerHolds(payer.appId, payer.environment, lamports, isLow);
    if (isLow === low.has(payer.address)) return;
    if (isLow) low.add(payer.address);
    else low.delete(payer.address);
    onLow({ ...payer, lamports: lamports.toString() }, isLow);
  }
}
