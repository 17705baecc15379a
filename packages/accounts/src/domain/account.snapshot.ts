/** An account as plain JSON and back. Disposable: another version of the stream type ignores it. */
import { type EncodedState, figure } from '@coffer/kernel';
import { Map as PersistentMap } from 'immutable';
import { z } from 'zod';
import { entryReason } from './account.events.ts';
import type { Account } from './account.state.ts';
import { entryId, holdId, holdPurpose } from './accountIds.ts';

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
  openHolds: z.array(
    z.object({
      holdId,
      amount: figure,
      purpose: holdPurpose,
      request: z.record(z.string(), z.string()),
      heldAtRevision: z.int(),
    }),
  ),
  closedHolds: z.array(z.object({ holdId, payout: figure })),
});

export function encodeAccount(account: Account): EncodedState {
  const facts = z.encode(stored, {
    revision: account.revision,
    available: account.available,
    held: account.held,
    deposited: account.deposited,
    withdrawn: account.withdrawn,
    entries: Array.from(account.entries, ([id, entry]) => ({ entryId: id, ...entry })),
    openHolds: Array.from(account.openHolds, ([id, hold]) => ({ holdId: id, ...hold })),
    closedHolds: Array.from(account.closedHolds, ([id, payout]) => ({ holdId: id, payout })),
  });
  return { facts };
}

export function decodeAccount({ facts }: EncodedState): Account {
  const { entries, openHolds, closedHolds, ...figures } = stored.parse(facts);
  return {
    ...figures,
    entries: PersistentMap(
      entries.map(({ entryId: id, note, ...entry }) => [id, { ...entry, note }] as const),
    ),
    openHolds: PersistentMap(openHolds.map(({ holdId: id, ...hold }) => [id, hold] as const)),
    closedHolds: PersistentMap(closedHolds.map(({ holdId: id, payout }) => [id, payout] as const)),
  };
}
