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
});

export type WalletEvent = EventIn<typeof walletEvents>;
