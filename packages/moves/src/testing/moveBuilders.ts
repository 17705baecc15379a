/** Words for the specs of moves: `requested()`, `signed(1)`, `expired(1)`, `recordSigned(2)`. */
import type { MoveEvent } from '../domain/move.events.ts';
import type { MoveCommand, MoveTerms, OnChain, SignedAttempt } from '../domain/move.ts';

export const deposit = (change: Partial<MoveTerms> = {}): MoveTerms => ({
  moveId: 'mov_1',
  operation: 'deposit',
  key: 'ref-1',
  appId: 'app_1',
  userId: 'usr_1',
  currencyId: 1,
  mint: 'native',
  decimals: 9,
  amount: 1_000_000n,
  from: { walletId: 'wlt_user', ownerId: 'scp_1', address: 'address-user' },
  toAddress: 'address-treasury',
  requestedAt: '2026-01-31T12:00:00.000Z',
  ...change,
});
export const withdrawal = (change: Partial<MoveTerms> = {}): MoveTerms =>
  deposit({ operation: 'withdraw', toAddress: 'address-elsewhere', ...change });

export const attempt = (number: number, signature = `signature-${number}`): SignedAttempt => ({
  attempt: number,
  signature,
  transaction: 'AQID',
  blockhash: `blockhash-${number}`,
  lastValidBlockHeight: 150n * BigInt(number),
  feePayer: 'address-fee-payer',
});
const nameOf = ({ attempt: number, signature }: SignedAttempt) => ({ attempt: number, signature });
export const onChain = (number: number): OnChain => ({ signature: `signature-${number}`, slot: 1_000n });

// Commands

export const request = (terms: MoveTerms = deposit()): MoveCommand => ({ type: 'RequestMove', terms });
export const recordSigned = (number: number, signature?: string): MoveCommand => ({
  type: 'RecordSigned',
  signed: attempt(number, signature),
});
export const recordSubmitted = (number: number): MoveCommand => ({
  type: 'RecordSubmitted',
  ...nameOf(attempt(number)),
});
export const recordExpired = (number: number): MoveCommand => ({
  type: 'RecordExpired',
  ...nameOf(attempt(number)),
});
export const confirm = (number: number): MoveCommand => ({ type: 'ConfirmMove', ...onChain(number) });
export const fail = (code: string, executed: number | null = null): MoveCommand => ({
  type: 'FailMove',
  code,
  onChain: executed === null ? null : onChain(executed),
});

// Facts

export const requested = (terms: MoveTerms = deposit()): MoveEvent => ({
  type: 'MoveRequested',
  data: terms,
});
export const signed = (number: number, signature?: string): MoveEvent => ({
  type: 'TransactionSigned',
  data: attempt(number, signature),
});
export const submitted = (number: number): MoveEvent => ({
  type: 'TransactionSubmitted',
  data: nameOf(attempt(number)),
});
export const expired = (number: number): MoveEvent => ({
  type: 'TransactionExpired',
  data: nameOf(attempt(number)),
});
const subject = {
  operation: 'deposit',
  key: 'ref-1',
  appId: 'app_1',
  userId: 'usr_1',
  currencyId: 1,
  amount: 1_000_000n,
} as const;
export const confirmed = (number: number): MoveEvent => ({
  type: 'MoveConfirmed',
  data: { ...subject, ...onChain(number) },
});
export const failed = (code: string, executed: number | null = null): MoveEvent => ({
  type: 'MoveFailed',
  data: { ...subject, code, ...(executed === null ? { signature: null, slot: null } : onChain(executed)) },
});
