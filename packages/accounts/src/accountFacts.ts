/** What account events say, for the contexts whose acts follow from them or complete them. */
import type { StreamEvent } from '@coffer/event-store';
import { type AccountEvent, accountEvents } from './domain/account.events.ts';
import { parseAccountStream } from './domain/account.ts';

/** The hold that a `FundsHeld` event opened; undefined for every other event. */
export function holdOpenedBy(event: StreamEvent) {
  return factOf(event, 'FundsHeld');
}

/** The hold that a `HoldClosed` event closed; undefined for every other event. */
export function holdClosedBy(event: StreamEvent) {
  return factOf(event, 'HoldClosed');
}

/** The entry that an `AccountCredited` event made; undefined for every other event. */
export function entryCreditedBy(event: StreamEvent) {
  return factOf(event, 'AccountCredited');
}

function factOf<Type extends AccountEvent['type']>(event: StreamEvent, type: Type) {
  // Most events of the log are not of accounts: the type is looked at before anything is decoded.
  if (event.type !== type) return undefined;
  const account = parseAccountStream(event.stream);
  if (!account) return undefined;
  const decoded = accountEvents.decode(event) as Extract<AccountEvent, { type: Type }>;
  return { account, ...decoded.data };
}
