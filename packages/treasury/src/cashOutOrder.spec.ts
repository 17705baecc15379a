import { cashOutHoldId } from '@coffer/accounts';
import { expect } from 'chai';
import { heldRequestOf, orderOf } from './cashOutOrder.ts';

/** As it is on disk: a release that read it differently would move other money than was requested. */
const ON_DISK = {
  ref: 'cash-out-1',
  mint: 'native',
  decimals: '9',
  fromWalletId: 'wlt_treasury',
  fromOwnerId: 'app_1',
  fromAddress: 'address-treasury',
  toAddress: 'address-player',
  requestedAt: '2026-01-31T12:00:00.000Z',
};
const hold = {
  account: { environment: 'test', appId: 'app_1', userId: 'usr_1', currencyId: 2 },
  holdId: cashOutHoldId('cash-out-1'),
  purpose: 'cashout',
  amount: 40n,
  request: ON_DISK,
} as const;

describe('the order of a cash-out', () => {
  it('is read from the hold, complete', () =>
    expect(orderOf(hold)).to.deep.equal({
      operation: 'cashOut',
      key: 'cash-out-1',
      appId: 'app_1',
      userId: 'usr_1',
      currencyId: 2,
      mint: 'native',
      decimals: 9,
      amount: 40n,
      from: { walletId: 'wlt_treasury', ownerId: 'app_1', address: 'address-treasury' },
      toAddress: 'address-player',
      requestedAt: '2026-01-31T12:00:00.000Z',
    }));

  it('is written in its form on disk', () => {
    const { key: ref, ...order } = orderOf(hold);
    expect(heldRequestOf({ ref, ...order })).to.deep.equal(ON_DISK);
  });

  it('names the wallet to be paid, which must admit it; a former release did not', () => {
    const request = { ...ON_DISK, toWalletId: 'wlt_player', toOwnerId: 'scp_1' };
    const { key: ref, ...order } = orderOf({ ...hold, request });
    expect(order.admittedBy).to.deep.equal({ walletId: 'wlt_player', ownerId: 'scp_1' });
    expect(heldRequestOf({ ref, ...order })).to.deep.equal(request);
    expect(orderOf(hold)).not.to.have.property('admittedBy');
  });

  it('is never guessed if a part of it is missing or not a number', () => {
    for (const request of [
      { ...ON_DISK, decimals: '9.5' },
      { ...ON_DISK, decimals: '' },
      { ref: 'cash-out-1' },
    ]) {
      expect(() => orderOf({ ...hold, request }), JSON.stringify(request)).to.throw();
    }
  });
});
