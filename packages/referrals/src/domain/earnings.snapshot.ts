/** Earnings as plain JSON and back. Disposable: another version of the stream type ignores it. */
import { type EncodedState, figure } from '@coffer/kernel';
import { Map as PersistentMap } from 'immutable';
import { z } from 'zod';
import type { Earnings } from './earnings.state.ts';

const stored = z.object({
  revision: z.int(),
  accrued: figure,
  withdrawn: figure,
  entries: z.array(
    z.object({
      key: z.string(),
      kind: z.enum(['accrual', 'withdrawal', 'returned']),
      amount: figure,
      requested: figure.optional(),
      balance: figure,
      revision: z.int(),
    }),
  ),
});

export function encodeEarnings({ entries, ...figures }: Earnings): EncodedState {
  return {
    facts: z.encode(stored, {
      ...figures,
      entries: Array.from(entries, ([key, entry]) => ({ key, ...entry })),
    }),
  };
}

export function decodeEarnings({ facts }: EncodedState): Earnings {
  const { entries, ...figures } = stored.parse(facts);
  return {
    ...figures,
    entries: PersistentMap(
      entries.map(({ key, requested, ...entry }) => [key, { ...entry, requested }] as const),
    ),
  };
}
