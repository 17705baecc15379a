/** What account events say, for the contexts whose acts follow from them. */
import type { StreamEvent } from '@coffer/event-store';
import { accountEvents } from './domain/account.events.ts';
import { parseAccountStream } from './domain/account.ts';

/** The hold that a `FundsHeld` event opened; undefined for every other event. */
export function holdOpenedBy(event: StreamEvent) {
  const account = parseAccountStream(event.stream);
  if (!account || event.type !== 'FundsHeld') return undefined;
  const decoded = accountEvents.decode(event);
  return decoded.type === 'FundsHeld' ? { account, ...decoded.data } : undefined;
}
