/**
 * Stored facts. These names and shapes are on disk for ever.
 * A wallet of an app itself. No event holds a key, sealed or not: only the address.
 */
import { type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

/** `treasury` holds the players' money; `feePayer` pays fees and rent, and nothing else. */
export const operatorWalletRole = z.enum(['treasury', 'feePayer']);
export type OperatorWalletRole = z.infer<typeof operatorWalletRole>;

export const operatorWalletEvents = eventCodec({
  /** The sealed key is durable before this is written. */
  OperatorWalletProvisioned: {
    data: z.object({
      walletId: z.string(),
      appId: z.string(),
      role: operatorWalletRole,
      /** The public key, in base58. */
      address: z.string(),
      provisionedAt: z.iso.datetime(),
    }),
  },
});

export type OperatorWalletEvent = EventIn<typeof operatorWalletEvents>;
