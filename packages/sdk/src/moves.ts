/** A transfer on the chain as the SDK hands it out. Source: specification, Treasury; docs/api.md, Treasury. */
import type { Fields } from './answers.ts';
import type { Open } from './identity.ts';

export interface Move {
  readonly moveId: string;
  readonly kind: 'deposit' | 'withdraw';
  readonly userId: string;
  /** The app's currency id; null for a mint that is none. */
  readonly currency: number | null;
  readonly amount: bigint;
  /** The wallet that is paid, in base58. */
  readonly toAddress: string;
  /** `confirmed`: in a finalized block, and in the books. Neither of the last two is ever left again. */
  readonly status: 'pending' | 'submitted' | 'confirmed' | 'failed';
  /** Of the latest transaction, in base58. */
  readonly signature: string | null;
  readonly slot: number | null;
  /** Why it failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Between a player's wallet and the treasury. */
export interface TreasuryMove extends Move {
  readonly ref: string;
}
/** From a player's wallet to any address. */
export interface WalletMove extends Move {
  readonly idempotencyKey: string;
  /** A mint address, or `native`. */
  readonly mint: Open<'native'>;
}

const readMove = (answer: Fields): Move => ({
  moveId: answer.text('moveId'),
  kind: answer.oneOf('kind', ['deposit', 'withdraw']),
  userId: answer.text('userId'),
  currency: answer.nullable('currency', answer.number),
  amount: answer.figure('amount'),
  toAddress: answer.text('toAddress'),
  status: answer.oneOf('status', ['pending', 'submitted', 'confirmed', 'failed']),
  signature: answer.nullable('signature', answer.text),
  slot: answer.nullable('slot', answer.number),
  error: answer.nullable('error', (name) => {
    const error = answer.object(name);
    return { code: error.text('code'), message: error.text('message') };
  }),
  createdAt: answer.text('createdAt'),
  updatedAt: answer.text('updatedAt'),
});

export const readTreasuryMove = (answer: Fields): TreasuryMove => ({
  ref: answer.text('ref'),
  ...readMove(answer),
});

export const readWalletMove = (answer: Fields): WalletMove => ({
  idempotencyKey: answer.text('idempotencyKey'),
  mint: answer.text('mint'),
  ...readMove(answer),
});
