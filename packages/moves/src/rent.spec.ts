import { Rejection } from '@coffer/kernel';
import { memoryChain, testWallet } from '@coffer/solana/testing';
import { expect } from 'chai';
import { type SponsoredMove, withRentPaid } from './rent.ts';
import { memoryRentSponsor } from './testing/memoryRentSponsor.ts';

const MOVE: SponsoredMove = { moveId: 'mov_1', appId: 'app_1', environment: 'test', userId: 'usr_1' };
const REFUSED = new Rejection('wallets/idempotency_conflict', { key: 'key-1', field: 'amount' });

describe('the rent for a requested move', () => {
  /** Requests the move; the result is known once it is told whether the request is accepted. */
  const world = () => {
    const sponsor = memoryRentSponsor();
    const request = () => {
      const answer = Promise.withResolvers<string>();
      const isReserved = Promise.withResolvers<void>();
      const done = withRentPaid(
        { chain: memoryChain(), sponsor },
        { ...MOVE, plan: PLAN, wallet: testWallet('without SOL').address },
        () => {
          isReserved.resolve();
          return answer.promise;
        },
      ).catch((error: unknown) => error);
      return { ...answer, done, isReserved: isReserved.promise };
    };
    return { sponsor, request };
  };

  it('stays reserved for the one of two requests at once that is accepted', async () => {
    for (const refusedFirst of [true, false]) {
      const { sponsor, request } = world();
      const [accepted, refused] = [request(), request()];
      await Promise.all([accepted.isReserved, refused.isReserved]);
      if (!refusedFirst) accepted.resolve('kept');
      refused.reject(REFUSED);
      expect(await refused.done).to.equal(REFUSED);
      accepted.resolve('kept');
      expect(await accepted.done).to.equal('kept');
      expect(sponsor.counted()).to.deep.equal([
        { ...MOVE, plan: PLAN, wallet: testWallet('without SOL').address },
      ]);
      // Others may have used up the caps before it is signed.
      sponsor.caps.perUser = 0;
      expect(await sponsor.spend(MOVE)).to.equal(true);
    }
  });

  it('is free again when the request is refused', async () => {
    const { sponsor, request } = world();
    const { reject, done } = request();
    reject(REFUSED);
    expect(await done).to.equal(REFUSED);
    expect(sponsor.counted()).to.deep.equal([]);
  });
});

const PLAN = {
  outcome: 'possible',
  mint: 'native',
  createsAccount: true,
  rent: 2_039_280n,
  sources: [],
  destination: '',
} as const;
