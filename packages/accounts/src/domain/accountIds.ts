/**
 * Ids of holds and entries carry their kind, so that kinds never meet in one account.
 * Source: contract, Money model. Callers' ids have no slash and our ids no colon, so every id is unambiguous.
 */
import assert from 'node:assert/strict';
import { z } from 'zod';

export const holdPurpose = z.enum(['session', 'stake', 'cashout']);
export type HoldPurpose = z.infer<typeof holdPurpose>;

export const holdId = z.templateLiteral([holdPurpose, ':', z.string()]);
export type HoldId = z.infer<typeof holdId>;

/** All that `accounts` knows of what a hold is for: the books need to know where its result goes. */
export function purposeOf(id: HoldId): HoldPurpose {
  const purpose = holdPurpose.options.find((one) => id.startsWith(one) && id[one.length] === ':');
  assert(purpose, `${id} says what it is for`);
  return purpose;
}

export const sessionHoldId = (sessionId: string): HoldId => `session:${sessionId}`;
export const stakeHoldId = (poolId: string, betId: string): HoldId => `stake:${poolId}/${betId}`;

/** What `stakeHoldId` was made of. */
export function stakeOf(id: HoldId): { readonly poolId: string; readonly betId: string } {
  const slash = id.indexOf('/');
  return { poolId: id.slice('stake:'.length, slash), betId: id.slice(slash + 1) };
}

export const cashOutHoldId = (ref: string): HoldId => `cashout:${ref}`;

const entryKind = z.enum(['deposit', 'adjust', 'earnings', 'rollback']);

export const entryId = z.templateLiteral([entryKind, ':', z.string()]);
export type EntryId = z.infer<typeof entryId>;

export const depositEntryId = (ref: string): EntryId => `deposit:${ref}`;
export const adjustmentEntryId = (ref: string): EntryId => `adjust:${ref}`;
export const earningsEntryId = (idemKey: string): EntryId => `earnings:${idemKey}`;
export const rollbackEntryId = (sessionId: string, transactionUuid: string): EntryId =>
  `rollback:${sessionId}/${transactionUuid}`;

/** The part of an entry's id that the caller chose: what a conflict names. */
export function callerKeyOf(id: EntryId): string {
  return id.slice(Math.max(id.indexOf(':'), id.indexOf('/')) + 1);
}
