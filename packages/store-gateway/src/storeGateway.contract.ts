/** What the gateway must do over whatever store is behind it. */
import type { EventStore } from '@coffer/event-store';
import { appendsContract } from './appends.contract.ts';
import { readsContract } from './reads.contract.ts';
import { subscriptionsContract } from './subscriptions.contract.ts';

/** `makeStore` returns a store on a new log each time; the suite closes it. */
export function storeGatewayContract(name: string, makeStore: () => Promise<EventStore>): void {
  describe(`the store gateway over ${name}`, () => {
    describe('appends', () => appendsContract(makeStore));
    describe('reads', () => readsContract(makeStore));
    describe('subscriptions', () => subscriptionsContract(makeStore));
  });
}
