/** Requests of the treasury that die between their steps, and how they are finished. Source: ADR 0006. */

import { asRequested } from '@coffer/moves';
import { refusalOf } from '@coffer/testing';
import { expect } from 'chai';
import { AMOUNT, createTreasuryCaller, diesIn, type TreasuryCaller } from './testing/treasuryCaller.ts';
import { createTreasuryWorld, TREASURY, type TreasuryWorld } from './testing/treasuryNodes.ts';

describe('a request of the treasury that dies', () => {
  let world: TreasuryWorld;
  let userId: string;
  let caller: TreasuryCaller;

  beforeEach(async () => {
    world = await createTreasuryWorld();
    userId = await world.newPlayer();
    caller = createTreasuryCaller(world, userId);
  });

  const ask: TreasuryCaller['ask'] = (...given) => caller.ask(...given);
  const fund: TreasuryCaller['fund'] = (...given) => caller.fund(...given);
  const show: TreasuryCaller['show'] = (...given) => caller.show(...given);
  const figures: TreasuryCaller['figures'] = (...given) => caller.figures(...given);

  describe('a withdrawal whose request has died', () => {
    beforeEach(() => fund(AMOUNT * 2n));

    it('before the hold has done nothing, and may be sent again', async () => {
      const before = await world.events();
      world.dieAt('cashOut.beforeHold');
      await diesIn(ask('withdraw'));
      expect(await world.events()).to.have.length(before.length);
      expect((await ask('withdraw')).replayed).to.equal(false);
    });

    it('between hold and move continues when repeated, even for a user suspended since', async () => {
      world.dieAt('cashOut.held');
      await diesIn(ask('withdraw'));
      expect((await world.typesOf('account-')).at(-1)).to.equal('FundsHeld');
      const { scopeId, environment } = world.place;
      await world.nodes[1].users.suspend({ scopeId, environment, userId }, world.context());
      await world.setLamports(TREASURY, 0n);
      world.unconfigureChain();

      expect(await refusalOf(ask('withdraw', { amount: AMOUNT + 1n }, 1))).to.deep.equal({
        code: 'treasury/idempotency_conflict',
        details: { key: 'ref-1', field: 'amount' },
      });
      const { answer, replayed } = await ask('withdraw', {}, 1);
      expect(replayed, 'the request that died has begun it').to.equal(true);
      expect(answer).to.deep.equal(asRequested(answer));
      expect(await figures()).to.include({ available: AMOUNT, held: AMOUNT });
      expect(await world.finish()).to.equal(0);
    });

    it('is finished by the process with the same bytes as by the request', async () => {
      world.dieAt('cashOut.held');
      await diesIn(ask('withdraw'));
      const held = (await world.events()).find(({ type }) => type === 'FundsHeld');
      expect(await world.finish()).to.equal(1);
      const requested = (await world.events()).at(-1);
      const { body } = await ask('withdraw');
      expect(await world.finish()).to.equal(0);
      expect((await world.events()).at(-1)?.id, 'the repeat adds nothing').to.equal(requested?.id);
      expect(requested).to.include({ type: 'MoveRequested' });
      // The time, the cause and the content of the move come from the hold, not from whoever wrote the move.
      const heldAt = JSON.parse(held?.data ?? '').request.requestedAt;
      expect(JSON.parse(body)).to.include({ createdAt: heldAt, updatedAt: heldAt });
      expect(JSON.parse(requested?.metadata ?? '')).to.include({ occurredAt: heldAt, causationId: held?.id });
    });

    it('after the move is answered as the first would have been', async () => {
      world.dieAt('cashOut.requested');
      await diesIn(ask('withdraw'));
      const log = await world.events();
      expect((await ask('withdraw', {}, 1)).replayed).to.equal(true);
      expect(await world.events()).to.have.length(log.length);
    });

    it('loses its ref to another player who moves first, and has its funds back in full', async () => {
      const other = await world.newPlayer();
      await fund(AMOUNT, other);
      world.dieAt('cashOut.held');
      await diesIn(ask('withdraw'));
      const { answer } = await ask('withdraw', { userId: other });
      expect(answer.userId).to.equal(other);
      expect(await world.finish()).to.equal(1);

      expect(await figures()).to.include({ available: AMOUNT * 2n, held: 0n, withdrawn: 0n });
      expect(await figures(other)).to.include({ held: AMOUNT });
      expect(await refusalOf(ask('withdraw'))).to.deep.equal({
        code: 'treasury/idempotency_conflict',
        details: { key: 'ref-1', field: 'userId' },
      });
    });

    it('loses its ref to a deposit, and has its funds back in full', async () => {
      world.dieAt('cashOut.held');
      await diesIn(ask('withdraw'));
      await ask('deposit');
      // Whichever comes first, the repeat or the process, the hold is closed.
      expect(await refusalOf(ask('withdraw'))).to.deep.equal({
        code: 'treasury/idempotency_conflict',
        details: { key: 'ref-1', field: 'operation' },
      });
      expect(await world.finish()).to.equal(1);
      expect(await figures()).to.include({ available: AMOUNT * 2n, held: 0n });
      expect(await show()).to.include({ operation: 'deposit', status: 'pending' });
      await world.confirm('ref-1');
      await world.finish();
      expect(await figures()).to.include({ available: AMOUNT * 3n, held: 0n, deposited: AMOUNT * 3n });
    });

    it('gives its funds back at once if the race is lost within the request itself', async () => {
      const other = await world.newPlayer();
      await fund(AMOUNT, other);
      const answers = await Promise.allSettled([
        ask('withdraw', {}, 0),
        ask('withdraw', { userId: other }, 1),
        ask('withdraw', {}, 1),
        ask('withdraw', { userId: other }, 0),
      ]);
      const won = answers.filter(({ status }) => status === 'fulfilled');
      expect(won).to.have.length(2);
      expect(await world.finish()).to.equal(0);
      const held = await Promise.all([userId, other].map(async (of) => (await figures(of)).held));
      expect(held.toSorted()).to.deep.equal([0n, AMOUNT]);
    });
  });

  describe('a deposit whose request has died', () => {
    it('before its move has done nothing; after it, a repeat gets the answer of the first', async () => {
      world.dieAt('deposit.beforeRequest');
      await diesIn(ask('deposit'));
      expect(await world.typesOf('move-')).to.deep.equal([]);
      world.dieAt('deposit.requested');
      await diesIn(ask('deposit'));
      expect((await ask('deposit')).replayed).to.equal(true);
      expect(await world.typesOf('move-')).to.deep.equal(['MoveRequested']);
    });

    it("between the wallet's admission and its move is finished by the process as it was requested", async () => {
      world.dieAt('move.admitted');
      await diesIn(ask('deposit'));
      expect(await world.typesOf('move-')).to.deep.equal([]);
      expect(await exportRefusal()).to.equal('wallets/export_not_allowed');
      expect(await world.finish()).to.equal(1);
      const [admitted, requested] = (await world.events()).slice(-2);
      expect([admitted?.type, requested?.type]).to.deep.equal(['WalletMoveAdmitted', 'MoveRequested']);
      const { occurredAt } = JSON.parse(admitted?.metadata ?? '');
      expect(JSON.parse(requested?.metadata ?? '')).to.include({ occurredAt, causationId: admitted?.id });
      const { body, replayed } = await ask('deposit', {}, 1);
      expect(replayed).to.equal(true);
      expect(JSON.parse(body)).to.include({ createdAt: occurredAt, updatedAt: occurredAt });
      expect(await world.finish()).to.equal(0);
    });

    it('there continues when repeated, and accepts no other request under the same ref', async () => {
      world.dieAt('move.admitted');
      await diesIn(ask('deposit'));
      expect(await refusalOf(ask('deposit', { amount: AMOUNT - 1n }, 1))).to.deep.equal({
        code: 'treasury/idempotency_conflict',
        details: { key: 'ref-1', field: 'amount' },
      });
      expect((await ask('deposit', {}, 1)).answer).to.include({ amount: AMOUNT });
      expect(await world.finish()).to.equal(0);
    });

    it('there loses its ref to another player, and leaves the wallet free', async () => {
      const other = await world.newPlayer();
      world.dieAt('move.admitted');
      await diesIn(ask('deposit'));
      await ask('deposit', { userId: other }, 1);
      expect(await exportRefusal()).to.equal(undefined);
      expect(await world.finish()).to.equal(0);
      expect(await exportRefusal(other)).to.equal('wallets/export_not_allowed');
    });
  });

  describe('a process that dies when a move has ended', () => {
    it('before the wallet is released leaves the release to the next process or to an export, once', async () => {
      await ask('deposit');
      await world.confirm('ref-1');
      world.dieAt('move.released');
      await diesIn(world.finish());
      expect(await world.finish(), 'the account').to.be.at.most(1);
      expect((await world.typesOf('wallet-')).at(-1)).to.equal('WalletMoveReleased');
      await ask('deposit', { ref: 'ref-2' });
      await world.fail('ref-2');
      expect(await exportRefusal()).to.equal(undefined);
      expect((await world.typesOf('wallet-')).slice(-2)).to.deep.equal([
        'WalletMoveReleased',
        'WalletExported',
      ]);
      expect(await world.finish()).to.equal(0);
    });
  });

  describe('a wallet whose user takes the key in the middle', () => {
    it('gets no cash-out: it fails at once, and the funds come back', async () => {
      await fund(AMOUNT);
      world.dieAt('cashOut.held');
      await diesIn(ask('withdraw'));
      expect(await exportRefusal()).to.equal(undefined);
      const { answer } = await ask('withdraw', {}, 1);
      expect(answer).to.deep.equal(asRequested(answer));
      expect((await world.typesOf('move-')).slice(-2)).to.deep.equal(['MoveRequested', 'MoveFailed']);
      await world.finish();
      expect(await world.finish()).to.equal(0);
      expect(await show()).to.include({ status: 'failed', errorCode: 'moves/wallet_unavailable' });
      expect(await figures()).to.include({ available: AMOUNT, held: 0n });
    });

    it('pays no deposit: the user is refused like one without a wallet', async () => {
      await exportRefusal();
      expect(await refusalOf(ask('deposit', {}, 1))).to.include({ code: 'wallets/no_wallet' });
      expect(await world.typesOf('move-')).to.deep.equal([]);
    });
  });

  /** The code of the refusal; undefined if the wallet was exported. */
  const exportRefusal = (of = userId): Promise<string | undefined> =>
    world.exportKey(of, 1).then(
      () => undefined,
      (error: { code?: string }) => error.code ?? Promise.reject(error),
    );
});
