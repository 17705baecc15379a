/** A transaction that takes what nobody meant to give, and the reason it is refused for. */
import type { PlantedScene } from './scene.ts';

export type Verdict =
  | { readonly code: 'wallets/transaction_refused'; readonly reason: string }
  | { readonly code: 'wallets/invalid_transaction'; readonly reason: string };

export interface Attack {
  readonly name: string;
  readonly build: (scene: PlantedScene) => Uint8Array;
  readonly verdict: Verdict;
  /** The runtime would not execute it. It executes every other one that is refused: only our refusal prevents it. */
  readonly failsAnyway?: true;
  /** It needs accounts or programs that only a machine of our own can plant. */
  readonly isPlanted?: true;
}

export const refused = (reason: string): Verdict => ({ code: 'wallets/transaction_refused', reason });
export const invalid = (reason: string): Verdict => ({ code: 'wallets/invalid_transaction', reason });
