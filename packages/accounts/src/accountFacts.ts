/** What account events mean to the contexts whose acts follow from them. */
import type { StreamEvent } from '@coffer/event-store';
import { accountEvents } from './domain/account.events.ts';
import { type AccountKey, parseAccountStream } from './domain/account.ts';
import type { HoldId, HoldPurpose } from './domain/accountIds.ts';

/** A hold as recorded in the event that opened it. */
export interface OpenedHold {
  readonly account: AccountKey;
  readonly holdId: HoldId;
  readonly purpose: HoldPurpose;
  readonly amount: bigint;
  /** The whole command that the hold is for. */
  readonly request: Readonly<Record<string, string>>;
}

/** The hold with that purpose that a `FundsHeld` event opened; undefined for every other event. */
export function holdOpenedBy(event: StreamEvent, purpose: HoldPurpose): OpenedHold | undefined {
  const account = parseAccountStream(event.stream);
  if (!account || event.type !== 'FundsHeld') return undefined;
  const held = accountEvents.decode(event);
  return held.type === 'FundsHeld' && held.data.purpose === purpose ? { account, ...held.data } : undefined;
}
