/** The state of a player's account: its funds, its holds and the entries that it has seen. */
import { Map as PersistentMap } from 'immutable';
import type { EntryReason } from './account.events.ts';
import type { EntryId } from './accountIds.ts';
import { type Holds, noHolds } from './holds.ts';

export interface Entry {
  readonly operation: 'credit' | 'debit';
  readonly amount: bigint;
  readonly reason: EntryReason;
  readonly note: string | undefined;
  readonly available: bigint;
  readonly held: bigint;
  readonly revision: number;
}

/** The map is persistent, and so are the holds: waiting commands are decided on tentative states that may be dropped. */
export interface Account {
  /** The revision of the last event folded; -1 before the first. */
  readonly revision: number;
  readonly available: bigint;
  readonly held: bigint;
  /** What deposits have brought in, and what cash-outs have taken out, in total. */
  readonly deposited: bigint;
  readonly withdrawn: bigint;
  readonly entries: PersistentMap<EntryId, Entry>;
  readonly holds: Holds;
}

export const initialState: Account = {
  revision: -1,
  available: 0n,
  held: 0n,
  deposited: 0n,
  withdrawn: 0n,
  entries: PersistentMap(),
  holds: noHolds,
};
