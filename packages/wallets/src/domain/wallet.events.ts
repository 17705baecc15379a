/**
 * Stored facts. These names and shapes are on disk for ever.
 * A wallet belongs to a user of a scope. No event holds a key, sealed or not: only the address.
 */
import { amount, type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

/** Everything in `MoveRequested` except the move's id: whoever continues after a crash makes the same request. */
const moveOrder = z.object({
  operation: z.enum(['deposit', 'withdraw', 'sweep']),
  key: z.string(),
  appId: z.string(),
  userId: z.string(),
  currencyId: z.int().nullable(),
  mint: z.string(),
  decimals: z.int(),
  amount,
  from: z.object({ walletId: z.string(), ownerId: z.string(), address: z.string() }),
  toAddress: z.string(),
  requestedAt: z.iso.datetime(),
});

export const walletEvents = eventCodec({
  /** The sealed key is durable before this is written. */
  WalletProvisioned: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      /** The public key, in base58. */
      address: z.string(),
      /** The wallet's number among the user's wallets in this scope and environment, from 1. */
      generation: z.int().positive(),
      provisionedAt: z.iso.datetime(),
    }),
  },
  /** The user takes the key: from here on the service never signs with it. A wallet of the next generation follows. */
  WalletExported: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      address: z.string(),
      idempotencyKey: z.string(),
      /** X25519, in base64: the key that it is sealed for. Null if it is handed out unsealed. */
      recipientPublicKey: z.string().nullable(),
      newWalletId: z.string(),
      newAddress: z.string(),
      exportedAt: z.iso.datetime(),
    }),
  },
  /**
   * An operator gave the user another address. A wallet of the next generation follows; what is left in this one is
   * moved there.
   */
  WalletMigrated: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      address: z.string(),
      /** The operator's own reference, which tells a repeat from a second migration. */
      ref: z.string(),
      newWalletId: z.string(),
      newAddress: z.string(),
      migratedAt: z.iso.datetime(),
    }),
  },
  /** A move from or to the wallet: the wallet is not exported until it is released. `MoveRequested` follows. */
  WalletMoveAdmitted: {
    data: z.object({
      walletId: z.string(),
      moveId: z.string(),
      /** The owner of the move's stream: an app or a scope. */
      moveOwnerId: z.string(),
      /** Null for a cash-out, whose order is in the hold on the player's account. */
      order: moveOrder.nullable(),
    }),
  },
  /** The move has ended, or belongs to another wallet: it is no longer in flight from or to this one. */
  WalletMoveReleased: { data: z.object({ walletId: z.string(), moveId: z.string() }) },
});

export type WalletEvent = EventIn<typeof walletEvents>;
