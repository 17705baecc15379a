/** An account for a snapshot and back. Disposable: another version of the stream type ignores it. */
import { type EncodedState, figure } from '@coffer/kernel';
import { Map as PersistentMap } from 'immutable';
import { z } from 'zod';
import { entryReason } from './account.events.ts';
import type { Account } from './account.state.ts';
import { entryId } from './accountIds.ts';
import { decodeHolds, encodeHolds } from './holds.ts';

const stored = z.object({
  revision: z.int(),
  available: figure,
  held: figure,
  deposited: figure,
  withdrawn: figure,
  entries: z.array(
    z.object({
      entryId,
      operation: z.enum(['credit', 'debit']),
      amount: figure,
      reason: entryReason,
      note: z.string().optional(),
      available: figure,
      held: figure,
      revision: z.int(),
    }),
  ),
  holds: z.object({
    count: z.int(),
    changes: z.int(),
    large: z.array(z.object({ place: z.int(), payout: figure })),
  }),
});

export function encodeAccount(account: Account): EncodedState {
  const { bytes, ...holds } = encodeHolds(account.holds);
  const entries = Array.from(account.entries, ([id, entry]) => ({ entryId: id, ...entry }));
  return {
    facts: z.encode(stored, { ...account, entries, holds: { ...holds, large: [...holds.large] } }),
    bytes,
  };
}

export function decodeAccount({ facts, bytes = new Uint8Array() }: EncodedState): Account {
  const { entries, holds, ...figures } = stored.parse(facts);
  return {
    ...figures,
    entries: PersistentMap(
      entries.map(({ entryId: id, note, ...entry }) => [id, { ...entry, note }] as const),
    ),
    holds: decodeHolds({ ...holds, bytes }),
  };
}
