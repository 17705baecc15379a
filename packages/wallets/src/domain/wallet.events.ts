/**
 * Stored facts. These names and shapes are on disk for ever.
 * A wallet belongs to a user of a scope. No event holds a key, sealed or not: only the address.
 */
import { amount, type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

/** All that `MoveRequested` says but for the move's id: whoever continues after a crash requests the same. */
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
  /** The user takes the key: from here on the service never signs with it. One of the next generation follows. */
  WalletExported: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      address: z.string(),
      idempotencyKey: z.string(),
      /** X25519, in base64: whom the key is sealed for. Null where it is handed out as it is. */
      recipientPublicKey: z.string().nullable(),
      newWalletId: z.string(),
      newAddress: z.string(),
      exportedAt: z.iso.datetime(),
    }),
  },
  /** An operator gave the user another address. One of the next generation follows; what is left here is moved there. */
  WalletMigrated: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      address: z.string(),
      /** The operator's own, so that a repeat is told from a second migration. */
      ref: z.string(),
      newWalletId: z.string(),
      newAddress: z.string(),
      migratedAt: z.iso.datetime(),
    }),
  },
  /** A move from or to the wallet: until it is released, the wallet is not exported. `MoveRequested` follows. */
  WalletMoveAdmitted: {
    data: z.object({
      walletId: z.string(),
      moveId: z.string(),
      /** Of the move's stream: an app or a scope. */
      moveOwnerId: z.string(),
      /** Null for a cash-out: the hold on the player's account carries its order. */
      order: moveOrder.nullable(),
    }),
  },
  /** The move has ended, or another wallet has it: it is no longer in flight from or to this wallet. */
  WalletMoveReleased: { data: z.object({ walletId: z.string(), moveId: z.string() }) },
});

export type WalletEvent = EventIn<typeof walletEvents>;
