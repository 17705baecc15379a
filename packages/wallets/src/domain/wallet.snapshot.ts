/** A wallet's state as plain JSON and back. Disposable: another version of the stream type ignores it. */
import type { EncodedState } from '@coffer/kernel';
import { z } from 'zod';
import type { WalletState } from './wallet.state.ts';

const facts = {
  walletId: z.string(),
  userId: z.string(),
  address: z.string(),
  generation: z.int(),
  provisionedAt: z.string(),
};
const successor = { newWalletId: z.string(), newAddress: z.string() };

const stored = z.object({
  wallet: z.discriminatedUnion('status', [
    z.object({ ...facts, status: z.literal('active') }),
    z.object({
      ...facts,
      status: z.literal('exported'),
      ...successor,
      idempotencyKey: z.string(),
      recipientPublicKey: z.string().nullable(),
      exportedAt: z.string(),
    }),
    z.object({
      ...facts,
      status: z.literal('migrated'),
      ...successor,
      ref: z.string(),
      migratedAt: z.string(),
    }),
  ]),
  revision: z.int(),
  admitted: z.array(z.object({ moveId: z.string(), moveOwnerId: z.string(), revision: z.int() })),
});

export const encodeWallet = (state: NonNullable<WalletState>): EncodedState => ({
  facts: stored.parse({ ...state, admitted: [...state.admitted.values()] }),
});

export function decodeWallet({ facts }: EncodedState): NonNullable<WalletState> {
  const { admitted, ...state } = stored.parse(facts);
  return { ...state, admitted: new Map(admitted.map((move) => [move.moveId, move] as const)) };
}
