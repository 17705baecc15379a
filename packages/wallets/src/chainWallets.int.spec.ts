import { createCommandHandler } from '@coffer/event-store';
import { newId, Rejection } from '@coffer/kernel';
import { createMoves } from '@coffer/moves';
import { type MemoryRentSponsor, memoryRentSponsor } from '@coffer/moves/testing';
import type { Currency } from '@coffer/portal';
import { associatedTokenAddress } from '@coffer/solana';
import { type MemoryChain, memoryChain, testWallet } from '@coffer/solana/testing';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import {
  type ChainWallets,
  createChainWallets,
  type PlayerPlace,
  type WithdrawalRequest,
} from './chainWallets.ts';
import { ownAddressesOf } from './ownAddresses.ts';
import {
  contextOf,
  firstKeys,
  NOW,
  newOwner,
  startWalletWorld,
  type WalletProcess,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';
import { createWalletMigration } from './walletMigration.ts';

const elsewhere = testWallet('elsewhere').address;
const RENT_MINIMUM = 890_880n;

const refusalOf = (pending: Promise<unknown>) =>
  pending.then(
    () => 'done',
    (error: unknown) =>
      error instanceof Rejection ? { code: error.code, ...error.details } : Promise.reject(error),
  );

describe('wallets on the chain', () => {
  let world: WalletWorld;
  let service: WalletProcess;
  let chain: MemoryChain;
  let chips: ReturnType<MemoryChain['createMint']>;
  let chainWallets: ChainWallets;
  let currencies: readonly Currency[];
  let rentSponsor: MemoryRentSponsor;
  let place: PlayerPlace;
  let walletId: string;
  let address: string;

  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  after(() => world.stop());
  beforeEach(async () => {
    service = await world.start(firstKeysOfWorld);
    chain = memoryChain();
    chips = chain.createMint({ decimals: 6 });
    rentSponsor = memoryRentSponsor();
    currencies = [
      { id: 1, code: 'SOL', decimals: 9, mint: { test: 'native', live: 'native' } },
      { id: 2, code: 'CHIP', decimals: 6, mint: { test: chips.address, live: null } },
      { id: 3, code: 'POINT', decimals: 0, mint: { test: null, live: null } },
    ];
    chainWallets = createChainWallets({
      wallets: service.wallets,
      moves: createMoves({ handler: createCommandHandler({ store: world.store }), store: world.store }),
      rentSponsor,
      ownAddressesOf: ownAddressesOf(service.operatorWallets),
      clock: () => NOW,
      chainOf: () => chain,
      currencies: () => currencies,
    });
    place = { ...newOwner(), appId: newId('app') };
    ({ id: walletId, address } = await service.wallets.provision(place, contextOf()));
  });
  const firstKeysOfWorld = firstKeys();

  const withdraw = (change: Partial<WithdrawalRequest> = {}, of = walletId) =>
    chainWallets.withdraw(
      place,
      of,
      { idempotencyKey: 'withdraw-1', toAddress: elsewhere, amount: 1_000_000n, ...change },
      async () => undefined,
      contextOf(),
    );
  const eventsOf = async (moveId: string) =>
    (await Array.fromAsync(world.store.readAll())).flat().filter(({ stream }) => stream.endsWith(moveId));

  describe('show', () => {
    it('nothing before anything has been sent to them', async () => {
      expect(await chainWallets.balance(place, walletId, contextOf())).to.deep.equal({
        walletId,
        address,
        environment: 'test',
        native: { symbol: 'SOL', amount: 0n, decimals: 9, currency: 'SOL', currencyId: 1 },
        tokens: [],
      });
    });

    it("what anybody has sent, with the app's codes, its own currencies first", async () => {
      chain.fund(address, 2n ** 60n);
      const worthless = chain.createMint({ decimals: 2 });
      chain.giveTokens(worthless, address, 7n);
      chain.giveTokens(chips, address, 2n ** 63n);
      const { native, tokens } = await chainWallets.balance(place, walletId, contextOf());
      expect(native.amount).to.equal(2n ** 60n);
      expect(tokens).to.deep.equal([
        { mint: chips.address, amount: 2n ** 63n, decimals: 6, currency: 'CHIP', currencyId: 2 },
        { mint: worthless.address, amount: 7n, decimals: 2, currency: null, currencyId: null },
      ]);
    });

    it("nothing of another user's wallet", async () => {
      const other = { ...newOwner({ scopeId: place.scopeId }), appId: place.appId };
      expect(await refusalOf(chainWallets.balance(other, walletId, contextOf()))).to.deep.equal({
        code: 'wallets/not_found',
      });
    });
  });

  describe('send', () => {
    beforeEach(() => {
      chain.fund(address, 10_000_000n);
      chain.giveTokens(chips, address, 500n);
    });

    it('a withdrawal, which is requested and answered as pending', async () => {
      const { answer, replayed } = await withdraw();
      expect(replayed).to.equal(false);
      expect(answer).to.deep.include({
        operation: 'withdraw',
        key: 'withdraw-1',
        userId: place.userId,
        appId: place.appId,
        currencyId: 1,
        mint: 'native',
        decimals: 9,
        amount: 1_000_000n,
        from: { walletId, ownerId: place.scopeId, address },
        toAddress: elsewhere,
        status: 'pending',
        signature: null,
        slot: null,
      });
      expect(await chainWallets.withdrawal(place, walletId, answer.moveId, contextOf())).to.deep.equal(
        answer,
      );
      expect((await eventsOf(answer.moveId)).map(({ type }) => type)).to.deep.equal(['MoveRequested']);
    });

    it('one withdrawal for fifty in parallel and for every repeat, even when nothing is left', async () => {
      const all = await Promise.all(Array.from({ length: 50 }, () => withdraw()));
      const [first] = all;
      for (const { answer } of all) expect(answer).to.deep.equal(first?.answer);
      expect(await eventsOf(first?.answer.moveId ?? '')).to.have.length(1);
      chain = memoryChain();
      expect(await withdraw()).to.deep.include({ answer: first?.answer, replayed: true });
    });

    it('by currency id, by mint, and tokens that the app has no currency for', async () => {
      const byId = await withdraw({ currency: 2, amount: 5n });
      const byMint = await withdraw({ idempotencyKey: 'withdraw-2', mint: chips.address, amount: 5n });
      for (const { answer } of [byId, byMint]) {
        expect(answer).to.include({ currencyId: 2, mint: chips.address, decimals: 6 });
      }
      const unknown = chain.createMint({ decimals: 3 });
      chain.giveTokens(unknown, address, 5n);
      const { answer } = await withdraw({ idempotencyKey: 'withdraw-3', mint: unknown.address, amount: 5n });
      expect(answer).to.include({ currencyId: null, mint: unknown.address, decimals: 3 });
    });

    it('all that the balance shows of a token, even if several accounts hold it', async () => {
      chain.giveTokens(chips, address, 70n, testWallet('beside').address);
      const { tokens } = await chainWallets.balance(place, walletId, contextOf());
      expect(tokens.map(({ amount }) => amount)).to.deep.equal([570n]);
      expect(await refusalOf(withdraw({ currency: 2, amount: 571n }))).to.deep.equal({
        code: 'wallets/insufficient_funds',
        available: 570n,
        amount: 571n,
      });
      expect(await refusalOf(withdraw({ currency: 2, amount: 570n }))).to.equal('done');
    });

    describe('nothing to the app itself', () => {
      for (const environment of ['test', 'live'] as const) {
        for (const role of ['treasury', 'feePayer'] as const) {
          it(`at its ${role} in ${environment}, or at a token account of it, made or not`, async () => {
            const { appId } = place;
            const own = (await service.operatorWallets.provision({ environment, appId, role }, contextOf()))
              .address;
            const stranger = chain.createMint();
            const addresses = [
              own,
              associatedTokenAddress(own, chips.address, chips.program),
              chain.giveTokens(stranger, own, 1n),
            ];
            for (const toAddress of addresses) {
              for (const currency of [1, 2]) {
                expect(await refusalOf(withdraw({ toAddress, currency, amount: 1n }))).to.deep.equal({
                  code: 'wallets/own_address',
                });
              }
            }
            // Another app's is an address like any other.
            place = { ...place, appId: newId('app') };
            expect(await refusalOf(withdraw({ toAddress: own }))).to.equal('done');
          });
        }
      }
    });

    for (const [field, change] of [
      ['toAddress', { toAddress: testWallet('another').address }],
      ['amount', { amount: 2_000_000n }],
      ['currency', { currency: 2 }],
    ] as const) {
      it(`nothing under the key of a withdrawal with another ${field}`, async () => {
        await withdraw();
        expect(await refusalOf(withdraw(change))).to.deep.equal({
          code: 'wallets/idempotency_conflict',
          key: 'withdraw-1',
          field,
        });
      });
    }

    const refusals: readonly [string, Partial<WithdrawalRequest>, Record<string, unknown>][] = [
      [
        'more than there is',
        { amount: 10_000_001n },
        { code: 'wallets/insufficient_funds', available: 10_000_000n, amount: 10_000_001n },
      ],
      [
        'more tokens than there are',
        { currency: 2, amount: 501n },
        { code: 'wallets/insufficient_funds', available: 500n, amount: 501n },
      ],
      [
        'an amount that leaves less than an account must hold',
        { amount: 9_999_999n },
        { code: 'wallets/below_rent_minimum', minimum: RENT_MINIMUM },
      ],
      ["in another app's currency", { currency: 9 }, { code: 'wallets/unknown_currency' }],
      ['in a currency that is not on a chain', { currency: 3 }, { code: 'wallets/currency_not_on_chain' }],
      [
        'to the address of a program',
        { toAddress: '11111111111111111111111111111112' },
        { code: 'wallets/invalid_address' },
      ],
    ];
    for (const [what, change, expected] of refusals) {
      it(`nothing: ${what}; the key stays free`, async () => {
        expect(await refusalOf(withdraw(change))).to.deep.include(expected);
        expect(await refusalOf(withdraw())).to.equal('done');
      });
    }

    describe('tokens to somebody who has no account for them', () => {
      const RENT = 2_039_280n;
      const to = (name: string, change: Partial<WithdrawalRequest> = {}) =>
        withdraw({
          idempotencyKey: name,
          toAddress: testWallet(name).address,
          currency: 2,
          amount: 1n,
          ...change,
        });
      const hold = (lamports: bigint) => {
        chain.closeAccount(address);
        if (lamports > 0n) chain.fund(address, lamports);
      };
      const notSponsored = { code: 'wallets/rent_not_sponsored', lamports: RENT };

      it("at the wallet's cost, if that leaves it with enough or with nothing", async () => {
        rentSponsor.caps.perUser = 0;
        for (const [lamports, outcome] of [
          [0n, notSponsored],
          [RENT - 1n, notSponsored],
          [RENT, 'done'],
          [RENT + RENT_MINIMUM - 1n, notSponsored],
          [RENT + RENT_MINIMUM, 'done'],
        ] as const) {
          hold(lamports);
          expect(await refusalOf(to(`of ${lamports}`))).to.deep.equal(
            outcome === 'done' ? 'done' : outcome,
            `${lamports}`,
          );
        }
        expect(rentSponsor.counted()).to.deep.equal([]);
      });

      it("at the app's cost within its caps, even for forty at once", async () => {
        hold(0n);
        const names = Array.from({ length: 40 }, (_, index) => `fresh ${index}`);
        const outcomes = await Promise.all(names.map((name) => refusalOf(to(name))));
        expect(outcomes.filter((one) => one === 'done')).to.have.length(2);
        for (const refused of outcomes.filter((one) => one !== 'done')) {
          expect(refused).to.deep.equal(notSponsored);
        }
        expect(rentSponsor.counted()).to.have.length(2);
        // The key of a refused request is free; what was accepted is answered again.
        hold(RENT + RENT_MINIMUM);
        for (const name of names) expect(await refusalOf(to(name))).to.equal('done');
      });

      it('paying only what is missing, if somebody has sent lamports to the address of the account', async () => {
        rentSponsor.caps.perUser = 0;
        hold(0n);
        const sendTo = (name: string, lamports: bigint) =>
          chain.fund(
            associatedTokenAddress(testWallet(name).address, chips.address, chips.program),
            lamports,
          );
        sendTo('a', RENT_MINIMUM);
        expect(await refusalOf(to('a'))).to.deep.equal({ ...notSponsored, lamports: RENT - RENT_MINIMUM });
        sendTo('b', RENT);
        expect(await refusalOf(to('b'))).to.equal('done');
      });

      it('and counts nothing for a request that is refused', async () => {
        hold(0n);
        expect(await refusalOf(to('a', { amount: 501n }))).to.include({ code: 'wallets/insufficient_funds' });
        await to('b');
        const again = testWallet('c').address;
        expect(await refusalOf(to('b', { toAddress: again }))).to.include({
          code: 'wallets/idempotency_conflict',
        });
        expect(rentSponsor.counted()).to.have.length(1);
      });
    });

    it('nothing from a wallet that its user has exported', async () => {
      await service.exports.exportWallet(
        place,
        { walletId, idempotencyKey: 'export-1', recipientPublicKey: null },
        async () => undefined,
        contextOf(),
      );
      expect(await refusalOf(withdraw())).to.deep.equal({ code: 'wallets/not_active', status: 'exported' });
    });

    it("nothing of another wallet's withdrawal", async () => {
      const { answer } = await withdraw();
      const other = { ...newOwner({ scopeId: place.scopeId }), appId: place.appId };
      const { id } = await service.wallets.provision(other, contextOf());
      expect(await refusalOf(chainWallets.withdrawal(other, id, answer.moveId, contextOf()))).to.deep.equal({
        code: 'wallets/withdrawal_not_found',
      });
    });
  });

  describe('are replaced', () => {
    const migrate = (ref = 'leak-1') =>
      createWalletMigration({
        handler: createCommandHandler({ store: world.store }),
        wallets: service.wallets,
        moves: createMoves({ handler: createCommandHandler({ store: world.store }), store: world.store }),
        rentSponsor,
        clock: () => NOW,
        chainOf: () => chain,
        currencies: () => currencies,
      }).migrate(place, ref, contextOf());

    it('once per ref, and what the old one holds is sent on to the new one', async () => {
      chain.fund(address, 10_000_000n);
      chain.giveTokens(chips, address, 500n);
      const answer = await migrate();
      expect(answer.from).to.include({ id: walletId, address, status: 'migrated' });
      expect(answer.to).to.include({ status: 'active' });
      expect(answer.sweeps.map(({ mint, amount, toAddress }) => ({ mint, amount, toAddress }))).to.deep.equal(
        [
          { mint: chips.address, amount: 500n, toAddress: answer.to.address },
          { mint: 'native', amount: 10_000_000n, toAddress: answer.to.address },
        ],
      );
      const again = await migrate();
      expect(again).to.deep.equal(answer);
      expect(await service.wallets.walletsOf(place, contextOf())).to.have.length(2);
    });

    it('with tokens of strangers only as far as somebody pays for their accounts', async () => {
      rentSponsor.caps.perUser = 1;
      chain.giveTokens(chips, address, 500n);
      const strangers = [1, 2, 3].map(() => chain.createMint());
      for (const mint of strangers) chain.giveTokens(mint, address, 1n);
      const mintsOf = async () => (await migrate()).sweeps.map(({ mint }) => mint);
      const first = await mintsOf();
      expect(first, "one of the app's currencies, and one that it sponsors")
        .to.have.length(2)
        .and.include(chips.address);
      expect(rentSponsor.counted()).to.have.length(1);

      const rent = 2_039_280n;
      chain.fund(address, 2n * rent + 5_000_000n);
      const answer = await migrate();
      expect(answer.sweeps.map(({ mint }) => mint)).to.include.members(strangers.map((one) => one.address));
      expect(answer.sweeps.at(-1), 'what the wallet pays is left in it').to.include({
        mint: 'native',
        // The sponsored account does not exist yet: by now the wallet has the SOL for it.
        amount: 5_000_000n - rent,
      });
      expect(rentSponsor.counted()).to.have.length(1);
    });

    it('with the tokens of all its accounts, as many at a time as fit into a transfer', async () => {
      chain.giveTokens(chips, address, 500n);
      for (let index = 1; index <= 5; index++) {
        chain.giveTokens(chips, address, BigInt(index), testWallet(`beside ${index}`).address);
      }
      const answer = await migrate();
      expect(answer.sweeps.map(({ mint, amount }) => ({ mint, amount }))).to.deep.equal([
        { mint: chips.address, amount: 514n },
      ]);
    });

    it('without anything to send: dust stays where it is', async () => {
      chain.fund(address, RENT_MINIMUM - 1n);
      expect((await migrate()).sweeps).to.deep.equal([]);
    });

    it('a second time under another ref', async () => {
      const first = await migrate();
      const second = await migrate('leak-2');
      expect(second.from.id).to.equal(first.to.id);
    });
  });
});
