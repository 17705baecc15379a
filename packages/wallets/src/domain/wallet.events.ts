/**
 * Stored facts. These names and shapes are on disk for ever.
 * A wallet belongs to a user of a scope. No event holds a key, sealed or not: only the address.
 */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

export const walletEvents = eventCodec({
  /** The sealed key is durable before this is written. */
  WalletProvisioned: {
    data: z.object({
      walletId: z.string(),
      userId: z.string(),
      /** The public key, in base58. */
      address: z.string(),
      /** The how manieth wallet of the user in this scope and environment, from 1. */
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
});

export type WalletEvent = EventIn<typeof walletEvents>;
