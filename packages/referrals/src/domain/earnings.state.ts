/** The state of a user's earnings: what was accrued, what was withdrawn, and the keys that it has seen. */
import { Map as PersistentMap } from 'immutable';

/** An accrual or a withdrawal that the stream has seen. */
export interface EarningsEntry {
  readonly kind: 'accrual' | 'withdrawal' | 'returned';
  readonly amount: bigint;
  readonly requested: bigint | undefined;
  /** After it. */
  readonly balance: bigint;
  readonly revision: number;
}

/** The entries are persistent: waiting commands are decided on tentative states that may be dropped. */
export interface Earnings {
  readonly revision: number;
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  /** By kind and `idemKey`: a key whose withdrawal comes too late may be that of an accrual. */
  readonly entries: PersistentMap<string, EarningsEntry>;
}

export const balanceOf = ({ accrued, withdrawn }: Pick<Earnings, 'accrued' | 'withdrawn'>): bigint =>
  accrued - withdrawn;

export const accrualKey = (idemKey: string): string => `accrual:${idemKey}`;
export const withdrawalKey = (idemKey: string): string => `withdrawal:${idemKey}`;

export const initialState: Earnings = { revision: -1, accrued: 0n, withdrawn: 0n, entries: PersistentMap() };
