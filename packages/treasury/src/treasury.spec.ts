/** Deposits, cash-outs and how they end, over two nodes on one log in memory. Source: docs/api.md, Treasury. */

import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { treasuryMoveBody, treasuryMovePlace } from '@coffer/moves';
import { ChainUnreachableError } from '@coffer/solana';
import { codeOf, patiently, refusalOf } from '@coffer/testing';
import { expect } from 'chai';
import type { TransferRequest } from './schemas.ts';
import { AMOUNT, createTreasuryCaller, type Kind, type TreasuryCaller } from './testing/treasuryCaller.ts';
import {
  CHIP_ID,
  createTreasuryWorld,
  POINTS,
  RENT_MINIMUM,
  SOL,
  TREASURY,
  type TreasuryWorld,
} from './testing/treasuryNodes.ts';

describe('the treasury', () => {
  let world: TreasuryWorld;
  let userId: string;
  let caller: TreasuryCaller;

  beforeEach(async () => startIn(await createTreasuryWorld()));

  async function startIn(given: TreasuryWorld): Promise<void> {
    world = given;
    userId = await world.newPlayer();
    caller = createTreasuryCaller(world, userId);
  }

  const ask: TreasuryCaller['ask'] = (...given) => caller.ask(...given);
  const fund: TreasuryCaller['fund'] = (...given) => caller.fund(...given);
  const show: TreasuryCaller['show'] = (...given) => caller.show(...given);
  const figures: TreasuryCaller['figures'] = (...given) => caller.figures(...given);
  const moveStreams = async () =>
    (await world.events()).filter(({ type }) => type === 'MoveRequested').map(({ stream }) => stream);

  describe('a deposit', () => {
    it("is requested from the user's wallet to the treasury, and answered as it was requested", async () => {
      const { answer, replayed, body } = await ask('deposit');
      expect(replayed).to.equal(false);
      expect(answer).to.deep.include({
        operation: 'deposit',
        mint: 'native',
        decimals: 9,
        from: world.payerOf(userId),
      });
      expect(JSON.parse(body)).to.deep.equal({
        ref: 'ref-1',
        moveId: treasuryMovePlace('test', world.place.appId, 'ref-1').moveId,
        kind: 'deposit',
        userId,
        currency: SOL.id,
        amount: '2000000000',
        toAddress: TREASURY,
        status: 'pending',
        signature: null,
        slot: null,
        error: null,
        createdAt: answer.requestedAt,
        updatedAt: answer.requestedAt,
      });
      expect(await world.typesOf('account-'), 'nothing is booked').to.deep.equal([]);
    });

    it('is booked once the chain has confirmed it, and shown as confirmed only then', async () => {
      const { answer: first } = await ask('deposit');
      expect(await show()).to.deep.equal(first);
      await world.confirm('ref-1');
      expect(await show()).to.include({
        status: 'submitted',
        signature: 'signature-ref-1',
        slot: null,
        errorCode: null,
      });
      expect(await figures()).to.include({ available: 0n, deposited: 0n });

      expect(await world.finish(), 'the account and the wallet').to.equal(2);
      expect(await show()).to.include({ status: 'confirmed', signature: 'signature-ref-1', slot: 321n });
      expect(await figures()).to.deep.equal({
        available: AMOUNT,
        held: 0n,
        deposited: AMOUNT,
        withdrawn: 0n,
      });
      expect(await world.finish(), 'it is done').to.equal(0);
      expect(await world.typesOf('account-')).to.deep.equal(['AccountCredited']);
    });

    it('is credited once, whoever does it and however often', async () => {
      await ask('deposit');
      await world.confirm('ref-1');
      const cause = (await world.events()).find(({ type }) => type === 'MoveConfirmed');
      if (!cause) expect.fail('it was confirmed');
      const deadlineMs = patiently();
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          world.nodes[index % 2 ? 1 : 0].treasury.carryOut.book(cause, deadlineMs),
        ),
      );
      expect(await world.typesOf('account-')).to.deep.equal(['AccountCredited']);
    });

    it('that has failed for good credits nothing, and says why', async () => {
      const { answer } = await ask('deposit');
      await world.fail('ref-1');
      expect(await world.finish(), 'the wallet').to.equal(1);
      expect(treasuryMoveBody(await show())).to.deep.include({
        status: 'failed',
        error: {
          code: 'moves/never_landed',
          message: 'No attempt got into a block, however often it was signed. Nothing was moved.',
        },
      });
      expect(await world.typesOf('account-')).to.deep.equal([]);
      expect((await ask('deposit')).answer, 'a ref that has failed stays failed').to.deep.equal(answer);
    });

    it('that has ended before a repeat is admitted is a replay for that repeat', async () => {
      const memory = createMemoryEventStore();
      let beforeAdmission: (() => Promise<void>) | undefined;
      const store: EventStore = {
        ...memory,
        async append(request) {
          if (request.events[0]?.type === 'WalletMoveAdmitted') {
            const comesFirst = beforeAdmission;
            beforeAdmission = undefined;
            await comesFirst?.();
          }
          return memory.append(request);
        },
      };
      await startIn(await createTreasuryWorld({ store }));
      let first: Awaited<ReturnType<typeof ask>> | undefined;
      beforeAdmission = async () => {
        first = await ask('deposit', {}, 1);
        await world.confirm('ref-1');
        await world.finish(1);
      };
      expect(await ask('deposit')).to.deep.include({ body: first?.body, replayed: true });
      expect(first?.replayed).to.equal(false);
    });

    it('of more than the wallet holds is refused, and the same ref may succeed later', async () => {
      await world.setLamports(world.addressOf(userId), AMOUNT - 1n);
      expect(await refusalOf(ask('deposit'))).to.deep.equal({
        code: 'treasury/insufficient_wallet_funds',
        details: { available: AMOUNT - 1n, amount: AMOUNT },
      });
      await world.setLamports(world.addressOf(userId), 0n);
      expect(await refusalOf(ask('deposit'))).to.deep.include({ details: { available: 0n, amount: AMOUNT } });
      expect(await world.typesOf('move-')).to.deep.equal([]);
      await world.setLamports(world.addressOf(userId), AMOUNT);
      expect((await ask('deposit')).replayed, 'of everything is allowed').to.equal(false);
    });

    it('of the native currency leaves no wallet with less than the chain requires', async () => {
      const from = world.addressOf(userId);
      await world.setLamports(from, AMOUNT + RENT_MINIMUM - 1n);
      expect(await refusalOf(ask('deposit'))).to.deep.equal({
        code: 'treasury/below_rent_minimum',
        details: { minimum: RENT_MINIMUM },
      });
      await world.setLamports(from, AMOUNT + RENT_MINIMUM);
      expect(await codeOf(ask('deposit', { amount: AMOUNT + 1n }))).to.equal('treasury/below_rent_minimum');
      expect((await ask('deposit')).replayed).to.equal(false);

      await world.setLamports(TREASURY, 0n);
      await world.setLamports(from, AMOUNT);
      expect(await refusalOf(ask('deposit', { ref: 'new', amount: RENT_MINIMUM - 1n }))).to.deep.equal({
        code: 'treasury/below_rent_minimum',
        details: { minimum: RENT_MINIMUM },
      });
      expect((await ask('deposit', { ref: 'new', amount: RENT_MINIMUM })).replayed).to.equal(false);
    });

    it('of a token is paid from its account, and needs no lamports in the wallet', async () => {
      const owner = world.addressOf(userId);
      const chips = { currency: CHIP_ID, amount: 5n };
      await world.setLamports(owner, 0n);
      world.chain.giveTokens(world.chain.createMint({ decimals: 6 }), owner, 50n);
      expect(await refusalOf(ask('deposit', chips))).to.deep.include({
        details: { available: 0n, amount: 5n },
      });
      const account = world.chain.giveTokens(world.chipMint, owner, 5n);
      world.chain.setFrozen(account, true);
      expect(await refusalOf(ask('deposit', chips))).to.deep.equal({
        code: 'treasury/account_frozen',
        details: { account },
      });
      world.chain.setFrozen(account, false);
      expect((await ask('deposit', chips)).answer).to.include({
        mint: world.chipMint.address,
        decimals: 6,
        amount: 5n,
      });
      expect(new Set(world.askedOfChain)).to.deep.equal(new Set(['confirmed']));
    });

    it('records nothing if the chain does not answer', async () => {
      world.chain.failNext('accounts');
      const failure = await ask('deposit').catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(ChainUnreachableError);
      expect(await world.typesOf('move-')).to.deep.equal([]);
      expect((await ask('deposit')).replayed).to.equal(false);
    });
  });

  describe('a withdrawal', () => {
    it("holds the funds, then moves from the treasury to the user's wallet", async () => {
      await fund(AMOUNT + 5n);
      const { answer, replayed, body } = await ask('withdraw');
      expect(replayed).to.equal(false);
      expect(JSON.parse(body)).to.deep.include({
        kind: 'withdraw',
        amount: '2000000000',
        toAddress: world.addressOf(userId),
        status: 'pending',
        createdAt: answer.requestedAt,
        updatedAt: answer.requestedAt,
      });
      expect(answer.from).to.deep.equal({
        walletId: 'wlt-treasury',
        ownerId: world.place.appId,
        address: TREASURY,
      });
      expect(await figures()).to.include({ available: 5n, held: AMOUNT, withdrawn: 0n });
      expect((await world.typesOf('account-')).at(-1)).to.equal('FundsHeld');
      expect(await world.finish(), 'the request has done it').to.equal(0);
    });

    it('keeps the whole order in the event that holds the funds', async () => {
      await fund();
      const { answer } = await ask('withdraw');
      const held = (await world.events()).find(({ type }) => type === 'FundsHeld');
      expect(JSON.parse(held?.data ?? '')).to.deep.equal({
        holdId: 'cashout:ref-1',
        amount: '2000000000',
        purpose: 'cashout',
        request: {
          ref: 'ref-1',
          mint: 'native',
          decimals: '9',
          fromWalletId: 'wlt-treasury',
          fromOwnerId: world.place.appId,
          fromAddress: TREASURY,
          toAddress: world.addressOf(userId),
          requestedAt: answer.requestedAt,
          toWalletId: world.walletPlaceOf(userId).walletId,
          toOwnerId: world.place.scopeId,
        },
      });
    });

    it('leaves the books when it is confirmed, and is shown as confirmed only then', async () => {
      await fund();
      const first = await ask('withdraw');
      await world.confirm('ref-1');
      expect(await show()).to.include({ status: 'submitted', slot: null });
      expect(await figures()).to.include({ held: AMOUNT });
      expect(await world.finish(), 'the account and the wallet').to.equal(2);
      expect(await show()).to.include({ status: 'confirmed', slot: 321n });
      expect(await figures()).to.deep.equal({
        available: 0n,
        held: 0n,
        deposited: AMOUNT,
        withdrawn: AMOUNT,
      });
      const again = await ask('withdraw', {}, 1);
      expect(again).to.deep.include({ body: first.body, replayed: true });
      expect(await world.finish()).to.equal(0);
    });

    it('that has failed for good gives the funds back, and stays failed', async () => {
      await fund();
      const first = await ask('withdraw');
      await world.fail('ref-1');
      expect(await show(), 'not before the funds are back').to.include({
        status: 'pending',
        errorCode: null,
      });
      expect(await world.finish(), 'the account and the wallet').to.equal(2);
      expect(await show()).to.include({ status: 'failed', errorCode: 'moves/never_landed' });
      expect(await figures()).to.include({ available: AMOUNT, held: 0n, withdrawn: 0n });
      expect(await ask('withdraw')).to.deep.include({ body: first.body, replayed: true });
      expect(await figures(), 'nothing is held again').to.include({ available: AMOUNT, held: 0n });
    });

    it('of more than is available is refused, by the player first and then by the treasury, and holds nothing', async () => {
      await fund();
      for (const inTreasury of [undefined, AMOUNT]) {
        if (inTreasury !== undefined) await world.setLamports(TREASURY, inTreasury);
        expect(await refusalOf(ask('withdraw', { amount: AMOUNT + 1n }))).to.deep.equal({
          code: 'treasury/insufficient_funds',
          details: { available: AMOUNT, amount: AMOUNT + 1n },
        });
      }
      await world.setLamports(TREASURY, AMOUNT - 1n);
      expect(await refusalOf(ask('withdraw'))).to.deep.equal({
        code: 'treasury/insufficient_treasury',
        details: { available: AMOUNT - 1n, amount: AMOUNT },
      });
      await world.setLamports(TREASURY, AMOUNT);
      expect(await world.typesOf('account-')).to.deep.equal(['AccountCredited']);
      expect((await ask('withdraw')).replayed, 'all of the treasury is allowed').to.equal(false);
    });

    it('leaves neither the treasury nor a new wallet below the rent minimum', async () => {
      await fund();
      await world.setLamports(TREASURY, AMOUNT + 1n);
      expect(await codeOf(ask('withdraw'))).to.equal('treasury/below_rent_minimum');
      await world.setLamports(TREASURY, AMOUNT * 2n);
      await world.setLamports(world.addressOf(userId), 0n);
      expect(await codeOf(ask('withdraw', { amount: 7n }))).to.equal('treasury/below_rent_minimum');
    });
  });

  for (const kind of ['deposit', 'withdraw'] as const) {
    describe(`each ${kind}`, () => {
      beforeEach(() => fund(AMOUNT * 10n));

      it('happens once, with one answer, when requested fifty times in parallel from two nodes', async () => {
        const before = (await moveStreams()).length;
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, index) => ask(kind, {}, index % 2 ? 1 : 0)),
        );
        expect(new Set(answers.map(({ body }) => body)).size).to.equal(1);
        expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
        expect((await moveStreams()).length - before).to.equal(1);
        expect(await world.finish()).to.equal(0);
        const held = kind === 'withdraw' ? AMOUNT : 0n;
        expect(await figures()).to.include({ held, available: AMOUNT * 10n - held });
      });

      it('is not a replay for whoever began it, even if the process requests the move first', async () => {
        const memory = createMemoryEventStore();
        const begins = kind === 'deposit' ? 'WalletMoveAdmitted' : 'FundsHeld';
        const store: EventStore = {
          ...memory,
          async append(request) {
            const result = await memory.append(request);
            if (request.events[0]?.type === begins) await world.finish(1);
            return result;
          },
        };
        await startIn(await createTreasuryWorld({ store }));
        await fund(AMOUNT);
        const first = await ask(kind);
        expect(first.replayed).to.equal(false);
        expect(await ask(kind)).to.deep.include({ body: first.body, replayed: true });
      });

      it('is answered again with the same bytes, whatever has happened to it and to the user', async () => {
        const first = await ask(kind);
        await world.sign('ref-1');
        await world.setLamports(TREASURY, 0n);
        await world.setLamports(world.addressOf(userId), 0n);
        const { scopeId, environment } = world.place;
        await world.nodes[1].users.suspend({ scopeId, environment, userId }, world.context());
        world.unconfigureChain();
        expect(await ask(kind, {}, 1)).to.deep.include({ body: first.body, replayed: true });
        expect(await show()).to.include({ status: 'submitted', signature: 'signature-ref-1' });
      });

      it('is refused with other content, and the first field that differs is named', async () => {
        const other = await world.newPlayer();
        await fund(AMOUNT * 10n, other);
        await ask(kind);
        const opposite = kind === 'deposit' ? 'withdraw' : 'deposit';
        const rows: readonly (readonly [field: string, kind: Kind, given: Partial<TransferRequest>])[] = [
          ['amount', kind, { amount: AMOUNT + 1n }],
          ['currency', kind, { amount: AMOUNT + 1n, currency: CHIP_ID }],
          ['userId', kind, { amount: AMOUNT + 1n, currency: CHIP_ID, userId: other }],
          ['operation', opposite, { amount: AMOUNT + 1n, currency: CHIP_ID, userId: other }],
          ['operation', opposite, {}],
        ];
        const log = await world.events();
        for (const [field, asked, given] of rows) {
          expect(await refusalOf(ask(asked, given)), field).to.deep.equal({
            code: 'treasury/idempotency_conflict',
            details: { key: 'ref-1', field },
          });
        }
        expect(await world.events(), 'a refusal records nothing').to.have.length(log.length);
      });

      it('refuses for the first of several reasons, in the documented order', async () => {
        const { scopeId, environment } = world.place;
        const broke = await world.newPlayer({ lamports: 1n, hasWallet: false });
        const given = (more: Partial<TransferRequest> = {}) => ({
          userId: broke,
          ref: 'new',
          amount: AMOUNT * 100n,
          ...more,
        });
        const code = (more: Partial<TransferRequest> = {}) => codeOf(ask(kind, given(more)));
        const suspend = () =>
          world.nodes[0].users.suspend({ scopeId, environment, userId: broke }, world.context());
        const reinstate = () =>
          world.nodes[0].users.reinstate({ scopeId, environment, userId: broke }, world.context());
        world.place.environment = 'live';
        expect(await code({ currency: 99 }), 'another environment').to.equal('users/not_found');
        world.place.environment = 'test';
        expect(await code({ userId: 'usr_nobody', currency: 99 })).to.equal('users/not_found');
        await ask(kind);
        await suspend();
        expect(await code({ currency: 99, ref: 'ref-1' })).to.equal('treasury/unknown_currency');
        expect(await code({ ref: 'ref-1' })).to.equal('treasury/idempotency_conflict');
        expect(await code()).to.equal('users/suspended');
        await reinstate();
        world.unconfigureChain();
        expect(await code({ currency: POINTS.id })).to.equal('treasury/currency_not_on_chain');
        expect(await refusalOf(ask(kind, given()))).to.deep.equal({
          code: 'chain/not_configured',
          details: { environment: 'test' },
        });
      });

      it('needs a wallet of the user before it looks at funds', async () => {
        const walletless = await world.newPlayer({ lamports: 1n, hasWallet: false });
        await world.setLamports(TREASURY, 0n);
        expect(await codeOf(ask(kind, { userId: walletless, ref: 'new' }))).to.equal('wallets/no_wallet');
      });
    });
  }

  it('knows a move only in its own app and environment', async () => {
    await ask('deposit');
    expect(await codeOf(show('ref-2'))).to.equal('treasury/move_not_found');
    const elsewhere = { ...world.place, environment: 'live' as const };
    expect(await codeOf(world.treasury.show(elsewhere, 'ref-1', world.context()))).to.equal(
      'treasury/move_not_found',
    );
  });

  describe('the balance', () => {
    const balance = (given: Partial<TransferRequest> = {}) => {
      const { userId: of, currency } = caller.requestOf(given);
      return world.treasury.balance(world.place, { userId: of, currency }, world.context());
    };

    it("has the player's net position and what the treasury holds and owes", async () => {
      await fund(AMOUNT * 2n);
      await ask('withdraw');
      await world.confirm('ref-1');
      await world.finish();
      await ask('withdraw', { ref: 'ref-2', amount: 3n });
      world.setBooks({ liabilities: 70n, inFlight: 4n });
      await world.setLamports(TREASURY, 50n);
      expect(await balance()).to.deep.equal({
        userId,
        currency: SOL.id,
        deposited: AMOUNT * 2n,
        withdrawn: AMOUNT,
        net: AMOUNT,
        available: AMOUNT - 3n,
        held: 3n,
        treasury: { address: TREASURY, onChain: 50n, liabilities: 70n, inFlight: 4n, surplus: -16n },
      });
    });

    it('counts finalized blocks, for tokens too, and is shown even for a suspended user', async () => {
      world.chain.giveTokens(world.chipMint, TREASURY, 9n);
      world.chain.giveTokens(world.chain.createMint({ decimals: 6 }), TREASURY, 90n);
      const { scopeId, environment } = world.place;
      await world.nodes[0].users.suspend({ scopeId, environment, userId }, world.context());
      expect((await balance({ currency: CHIP_ID })).treasury.onChain).to.equal(9n);
      expect(world.askedOfChain).to.deep.equal(['finalized']);
    });

    it('is refused for an unknown user or currency', async () => {
      expect(await codeOf(balance({ userId: 'usr_nobody', currency: 99 }))).to.equal('users/not_found');
      expect(await codeOf(balance({ currency: 99 }))).to.equal('treasury/unknown_currency');
      world.unconfigureChain();
      expect(await codeOf(balance())).to.equal('chain/not_configured');
    });
  });
});
