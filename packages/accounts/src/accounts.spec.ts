import { createCommandHandler, type StreamEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { type AccountKey, encodeMetadata, newId } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import { holdOpenedBy } from './accountFacts.ts';
import { createAccounts } from './accounts.ts';

import { cashOutHoldId, depositEntryId } from './domain/accountIds.ts';

const AT = '2026-01-31T12:00:00.000Z';

describe('accounts: what comes from the chain and goes back to it', () => {
  const store = createMemoryEventStore();
  const accounts = createAccounts({ handler: createCommandHandler({ store }), store });
  // Another node, which has seen nothing yet.
  const other = createAccounts({ handler: createCommandHandler({ store }), store });
  const newKey = (): AccountKey => ({
    environment: 'test',
    appId: newId('app'),
    userId: newId('usr'),
    currencyId: 1,
  });
  const context = () => ({ deadlineMs: patiently() });
  const confirmed = (id: string): StreamEvent => ({
    id,
    stream: 'move-test.app.mov',
    revision: 2,
    type: 'MoveConfirmed',
    data: '{}',
    metadata: encodeMetadata({ correlationId: 'req-1', actor: 'key:1', occurredAt: AT }, 1),
  });
  const eventsOf = async ({ environment, appId, userId, currencyId }: AccountKey) =>
    (
      await Array.fromAsync(store.readStream(`account-${environment}.${appId}.${userId}.${currencyId}`))
    ).flat();

  it('credits a confirmed deposit once, whoever reports it and however often', async () => {
    const key = newKey();
    const cause = confirmed('01939c1e-7f70-7000-8000-000000000001');
    expect(await accounts.isBooked(key, depositEntryId('d-1'), context())).to.equal(false);
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? accounts : other).creditDeposit(key, { ref: 'd-1', amount: 70n }, cause, patiently()),
      ),
    );

    expect(await accounts.figures(key, context())).to.deep.equal({ available: 70n, held: 0n });
    expect(await other.external(key, context())).to.deep.equal({
      available: 70n,
      held: 0n,
      deposited: 70n,
      withdrawn: 0n,
    });
    expect(await other.isBooked(key, depositEntryId('d-1'), context())).to.equal(true);
    expect(await other.isBooked(key, depositEntryId('d-2'), context())).to.equal(false);
    const [credited, ...more] = await eventsOf(key);
    expect(more).to.deep.equal([]);
    expect(JSON.parse(credited?.metadata ?? '')).to.include({ causationId: cause.id, occurredAt: AT });
    expect(JSON.parse(credited?.data ?? '')).to.include({ entryId: 'deposit:d-1', reason: 'deposit' });
  });

  it('tells the state of a hold, even on a node that has not seen it', async () => {
    const key = newKey();
    const holdId = cashOutHoldId('c-1');
    const find = () => other.findHold(key, holdId, context());
    await accounts.creditDeposit(key, { ref: 'd', amount: 100n }, confirmed('x'), patiently());
    expect(await find()).to.deep.equal({ standing: 'none' });

    const metadata = { correlationId: 'req-1', actor: 'key:1', occurredAt: AT };
    const order = { holdId, amount: 40n, purpose: 'cashout', request: { ref: 'c-1' } } as const;
    const held = await accounts.hold(key, order, { metadata, ...context() });
    if (held.outcome !== 'held') expect.fail(`it was ${held.outcome}`);
    const open = await find();
    if (open.standing !== 'open') expect.fail(`it is ${open.standing}`);
    expect(open.hold.amount).to.equal(40n);
    expect(open.cause.id).to.equal(held.cause.id);
    expect(holdOpenedBy(open.cause, 'cashout')?.request).to.deep.equal({ ref: 'c-1' });
    expect(await other.external(key, context())).to.deep.equal({
      available: 60n,
      held: 40n,
      deposited: 100n,
      withdrawn: 0n,
    });

    await accounts.closeHold(key, { holdId, payout: 0n }, confirmed('y'), patiently());
    expect(await find()).to.deep.equal({ standing: 'closed', payout: 0n });
    expect(await other.external(key, context())).to.deep.equal({
      available: 60n,
      held: 0n,
      deposited: 100n,
      withdrawn: 40n,
    });
  });
});
