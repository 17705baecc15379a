/**
 * Stored facts. These names and shapes are on disk for ever.
 * One transfer on the chain. What is signed is stored before its first byte leaves, so that whoever goes on after a
 * crash sends the same bytes again.
 */
import { amount, type EventIn, eventCodec } from '@coffer/kernel';
import { z } from 'zod';

/**
 * `deposit`: from a user's wallet to the treasury. `cashOut`: back. `withdraw`: from a user's wallet to any address.
 * `sweep`: from a wallet that an operator replaced to its successor.
 */
const moveOperation = z.enum(['deposit', 'cashOut', 'withdraw', 'sweep']);
export type MoveOperation = z.infer<typeof moveOperation>;

const blockHeight = amount;

/**
 * The user's wallet that the move is from or to, and whose stream records it until it ends. Absent if the move is from
 * a release that did not ask the wallet, or goes to a wallet that was no longer in use.
 */
const admittedBy = z.object({ walletId: z.string(), ownerId: z.string() }).optional();

/** What the move was, repeated at its end: whoever books it needs no other event. */
const moveSubject = {
  operation: moveOperation,
  key: z.string(),
  appId: z.string(),
  userId: z.string(),
  currencyId: z.int().nullable(),
  amount,
  admittedBy,
};

export const moveEvents = eventCodec({
  MoveRequested: {
    data: z.object({
      moveId: z.string(),
      operation: moveOperation,
      /** The caller's `ref` (deposit, cashOut) or `idempotencyKey` (withdraw); of a sweep, ours. */
      key: z.string(),
      /** The app that made the request, also when the stream belongs to a scope. */
      appId: z.string(),
      userId: z.string(),
      /** Null if the app has no currency for the mint. */
      currencyId: z.int().nullable(),
      /** `native` or a base58 mint address. */
      mint: z.string(),
      decimals: z.int(),
      amount,
      /** The wallet that pays, and the owner of its key: a scope or an app. */
      from: z.object({ walletId: z.string(), ownerId: z.string(), address: z.string() }),
      /** The base58 address of the wallet that is paid; never a token account. */
      toAddress: z.string(),
      requestedAt: z.iso.datetime(),
      admittedBy,
    }),
  },
  /** Durable before the first send. Attempts count from 1; a later one follows only an expired one. */
  TransactionSigned: {
    data: z.object({
      attempt: z.int().positive(),
      /** Base58. */
      signature: z.string(),
      /** The wire bytes in base64: what is sent, and resent. */
      transaction: z.string(),
      blockhash: z.string(),
      lastValidBlockHeight: blockHeight,
      /** The address of the wallet that pays the fee and the rent. */
      feePayer: z.string(),
    }),
  },
  /** A node accepted the bytes for the first time. */
  TransactionSubmitted: { data: z.object({ attempt: z.int().positive(), signature: z.string() }) },
  /** No block can ever contain it: established by the finalized block height and the whole history. */
  TransactionExpired: { data: z.object({ attempt: z.int().positive(), signature: z.string() }) },
  /** Finalized on the chain. */
  MoveConfirmed: { data: z.object({ ...moveSubject, signature: z.string(), slot: amount }) },
  /** Final: nothing moved and nothing will. */
  MoveFailed: {
    data: z.object({
      ...moveSubject,
      code: z.string(),
      /** Of the transaction that failed on the chain, if one did. */
      signature: z.string().nullable(),
      slot: amount.nullable(),
    }),
  },
});

export type MoveEvent = EventIn<typeof moveEvents>;
