/** Addresses that are the same on every cluster. */
import type { Address } from '../port.ts';

export const SYSTEM_PROGRAM: Address = '11111111111111111111111111111111';
export const TOKEN_PROGRAM: Address = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022_PROGRAM: Address = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const ASSOCIATED_TOKEN_PROGRAM: Address = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
export const COMPUTE_BUDGET_PROGRAM: Address = 'ComputeBudget111111111111111111111111111111';
export const MEMO_PROGRAM: Address = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/** Represents the native currency in a token account. */
export const NATIVE_MINT: Address = 'So11111111111111111111111111111111111111112';

/** The classic token program and its successor: the same instructions, as far as we use them. */
export const TOKEN_PROGRAMS: readonly Address[] = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
