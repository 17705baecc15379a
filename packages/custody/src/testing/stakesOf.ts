import type { KnownPool } from '../domain/pool.state.ts';
import { type Stake, stakeAt } from '../domain/stakes.ts';

/** In the order of their locks. */
export const stakesOf = ({ stakes }: KnownPool): readonly Stake[] =>
  Array.from({ length: stakes.count }, (_, index) => stakeAt(stakes, index + 1));
