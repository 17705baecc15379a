/** A move as callers see it, for both the treasury and the wallets. Source: docs/api.md, Treasury. */
import { encoderOf, figure, idText, mintText } from '@coffer/kernel';
import { z } from 'zod';
import { movesErrors } from './errors.ts';
import type { MoveState } from './types.ts';

const timestamp = z.string().meta({ description: 'ISO 8601 UTC with milliseconds.' });

const common = {
  moveId: idText('mov').meta({ description: 'Our id of the move.' }),
  kind: z.enum(['deposit', 'withdraw']),
  userId: idText('usr'),
  currency: z
    .int()
    .nullable()
    .meta({ description: "The app's currency id; null if the mint is not a currency." }),
  amount: figure,
  toAddress: z.string().meta({ description: 'The wallet that is paid, in base58.' }),
  status: z.enum(['pending', 'submitted', 'confirmed', 'failed']),
  signature: z.string().nullable().meta({ description: 'Of the latest transaction, in base58.' }),
  slot: z.int().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
};

/** Of the treasury. */
export const treasuryMove = z.object({ ref: z.string(), ...common });
/** Of a user's wallet. */
export const walletMove = z.object({
  idempotencyKey: z.string(),
  mint: mintText.meta({ description: '`native` or a base58 mint address.' }),
  ...common,
});

/** The move as it was requested: the answer to a request and to each repeat. */
export const asRequested = (move: MoveState): MoveState => ({
  ...move,
  status: 'pending',
  signature: null,
  slot: null,
  errorCode: null,
  updatedAt: move.requestedAt,
});

const treasuryBody = encoderOf(treasuryMove);
const walletBody = encoderOf(walletMove);

export const treasuryMoveBody = (move: MoveState) => treasuryBody({ ref: move.key, ...commonOf(move) });

export const walletMoveBody = (move: MoveState) =>
  walletBody({ idempotencyKey: move.key, ...commonOf(move), mint: move.mint });

const messages: Readonly<Record<string, { readonly message: string }>> = movesErrors;

function commonOf(move: MoveState) {
  const { errorCode: code } = move;
  return {
    ...move,
    kind: move.operation === 'deposit' ? ('deposit' as const) : ('withdraw' as const),
    currency: move.currencyId,
    // Slots count up from 0 by about 2.5 a second, which a JSON number holds easily.
    slot: move.slot === null ? null : Number(move.slot),
    error: code === null ? null : { code, message: messages[code]?.message ?? 'The move failed for good.' },
    createdAt: move.requestedAt,
  };
}
