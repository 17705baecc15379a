/** What is known of a write, as the words of a row of a `KeyIndex` by `transactionUuid`. */
import type { KeyIndex } from '@coffer/kernel';

export type WriteKind = 'bet' | 'win' | 'rollback' | 'rememberedRollback' | 'settle';

/** The words of a row; those of two words are said by their first. */
export const WORD = {
  amount: 0,
  balance: 2,
  /** Half of the round's key; both words are 0 if there is none. */
  round: 4,
  /**
   * The kind in the first three bits. Then for a win or rollback the place of its bet, for a bet the place of what decided
   * it: counted from 1, 0 for none.
   */
  kindAndOther: 6,
} as const;
export const WORDS = 7;
/** Before those of its row. */
export const WORDS_OF_KEY = 4;
export const KIND_SHIFT = 29;
export const OTHER_MASK = 2 ** KIND_SHIFT - 1;

export const KINDS: readonly WriteKind[] = ['bet', 'win', 'rollback', 'rememberedRollback', 'settle'];
export const BET = KINDS.indexOf('bet');
const WIN = KINDS.indexOf('win');
const ROLLBACK = KINDS.indexOf('rollback');
export const isOnBet = (kind: number): boolean => kind === WIN || kind === ROLLBACK;

export const kindAt = (rows: KeyIndex, row: number): WriteKind =>
  KINDS[rows.get(row, WORD.kindAndOther) >>> KIND_SHIFT] ?? 'bet';

export const otherAt = (rows: KeyIndex, row: number): number => rows.get(row, WORD.kindAndOther) & OTHER_MASK;

/** A bet keeps its first win, or its rollback. Of rows behind so many writes, which none of them is on. */
export function setKindAndOther(rows: KeyIndex, row: number, kind: number, bet: number, before = 0): void {
  rows.set(row, WORD.kindAndOther, (kind << KIND_SHIFT) | (bet + 1));
  if (bet >= 0 && otherAt(rows, bet - before) === 0) {
    rows.set(bet - before, WORD.kindAndOther, (BET << KIND_SHIFT) | (before + row + 1));
  }
}
