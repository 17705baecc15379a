import { Died } from '@coffer/event-store/testing';
import { treasuryMoveBody } from '@coffer/moves';
import { expect } from 'chai';
import type { TransferRequest } from '../schemas.ts';
import { SOL, type TreasuryWorld } from './treasuryNodes.ts';

export const AMOUNT = 2_000_000_000n;

export type Kind = 'deposit' | 'withdraw';

export type TreasuryCaller = ReturnType<typeof createTreasuryCaller>;

/** `userId` and `ref-1` unless said otherwise. */
export function createTreasuryCaller(world: TreasuryWorld, userId: string) {
  let funded = 0;

  const requestOf = (given: Partial<TransferRequest> = {}): TransferRequest => ({
    userId,
    currency: SOL.id,
    amount: AMOUNT,
    ref: 'ref-1',
    ...given,
  });
  const ask = async (kind: Kind, given: Partial<TransferRequest> = {}, node: 0 | 1 = 0) => {
    const outcome = await world.nodes[node].treasury[kind](world.place, requestOf(given), world.context());
    return { ...outcome, body: JSON.stringify(treasuryMoveBody(outcome.answer)) };
  };

  return {
    requestOf,
    ask,
    show: (ref = 'ref-1') => world.treasury.show(world.place, ref, world.context()),
    figures: (of = userId, currencyId = SOL.id) =>
      world.nodes[0].accounts.external(world.accountOf(of, currencyId), world.context()),
    /** Off-chain funds from a deposit that is in the books. */
    async fund(amount = AMOUNT, of = userId): Promise<void> {
      funded += 1;
      const ref = `funds-${funded}`;
      await ask('deposit', { ref, amount, userId: of });
      await world.confirm(ref);
      await world.finish();
    },
    suspend: (node: 0 | 1 = 0, of = userId) => {
      const { scopeId, environment } = world.place;
      return world.nodes[node].users.suspend({ scopeId, environment, userId: of }, world.context());
    },
  };
}

export const diesIn = async (pending: Promise<unknown>) =>
  expect(await pending.catch((error: unknown) => error)).to.be.instanceOf(Died);
