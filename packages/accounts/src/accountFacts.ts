/** What account events mean to the contexts whose acts follow from them. */

import type { StreamEvent } from '@coffer/event-store';
import type { AccountKey } from '@coffer/kernel';
import { accountEvents, type HoldOrder } from './domain/account.events.ts';
import { parseAccountStream } from './domain/account.ts';
import { type HoldId, type HoldPurpose, purposeOf } from './domain/accountIds.ts';

/** A hold as recorded in the event that opened it. */
export interface OpenedHold extends HoldOrder {
  readonly account: AccountKey;
}

/** The hold with that purpose that a `FundsHeld` event opened; undefined for every other event. */
export function holdOpenedBy(event: StreamEvent, purpose: HoldPurpose): OpenedHold | undefined {
  const account = parseAccountStream(event.stream);
  if (!account || event.type !== 'FundsHeld') return undefined;
  const held = accountEvents.decode(event);
  return held.type === 'FundsHeld' && held.data.purpose === purpose ? { account, ...held.data } : undefined;
}

/** The hold with that purpose that a `HoldClosed` event closes; undefined for every other event. */
export function holdClosedBy(
  event: StreamEvent,
  purpose: HoldPurpose,
): { readonly account: AccountKey; readonly holdId: HoldId } | undefined {
  if (event.type !== 'HoldClosed') return undefined;
  const account = parseAccountStream(event.stream);
  const closed = accountEvents.decode(event);
  if (!account || closed.type !== 'HoldClosed' || purposeOf(closed.data.holdId) !== purpose) return undefined;
  return { account, holdId: closed.data.holdId };
}
