import { Rejection } from '@coffer/kernel';
import { associatedTokenAddress } from '@coffer/solana';
import { expect } from 'chai';
import {
  carry,
  FEE_PAYER,
  type MoveWorld,
  moveWorld,
  TREASURY,
  USER,
  walletNamed,
} from './testing/moveWorld.ts';
import { gainOf } from './testing/simulatedChain.ts';
import type { MoveOrder } from './types.ts';

const SOL = 1_000_000_000n;

describe('the preparation of a move', () => {
  describe('of a token', () => {
    const tokenWorld = ({ held = 500n, isFrozen = false, policy = {} } = {}) => {
      const world = moveWorld(policy);
      const { memory } = world.simulated;
      const mint = memory.createMint({ decimals: 6 });
      const source = memory.giveTokens(mint, USER.address, held);
      memory.setFrozen(source, isFrozen);
      const order = { mint: mint.address, decimals: 6, amount: 300n };
      return { world, memory, mint, order };
    };
    const errorOf = async (
      { world, order }: ReturnType<typeof tokenWorld>,
      change: Partial<MoveOrder> = {},
    ) => {
      await carry(world, world.driver(), await world.request({ ...order, ...change }));
      expect(world.simulated.sent).to.deep.equal([]);
      return (await world.find())?.errorCode;
    };
    const heldBy = async ({ memory, mint }: ReturnType<typeof tokenWorld>, owner: string) =>
      (await memory.tokenAccountsOf(owner, 'finalized')).find((account) => account.mint === mint.address)
        ?.amount;

    it("moves it between the accounts of the two wallets, creating the recipient's", async () => {
      const given = tokenWorld();
      const { world, order } = given;
      await carry(world, world.driver(), await world.request(order));
      expect(await world.find()).to.include({ status: 'confirmed' });
      expect(await heldBy(given, USER.address)).to.equal(200n);
      expect(await heldBy(given, TREASURY.address)).to.equal(300n);
    });

    it('finds it again on the chain', async () => {
      const { world, order } = tokenWorld();
      const requested = await world.request(order);
      await carry(world, world.driver(), requested);
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
      expect(await world.simulated.executed()).to.have.length(1);
    });

    it('fails for good when the token forbids it', async () => {
      expect(await errorOf(tokenWorld({ held: 299n }))).to.equal('moves/insufficient_source_funds');
      expect(await errorOf(tokenWorld({ isFrozen: true }))).to.equal('moves/source_frozen');
      expect(await errorOf(tokenWorld(), { decimals: 9 })).to.equal('moves/mint_not_supported');
      expect(await errorOf(tokenWorld(), { mint: TREASURY.address })).to.equal('moves/mint_not_supported');
      const frozen = tokenWorld();
      frozen.memory.setFrozen(frozen.memory.giveTokens(frozen.mint, TREASURY.address, 0n), true);
      expect(await errorOf(frozen)).to.equal('moves/recipient_refused');
    });

    it("waits when the recipient's account costs more than the allowance", async () => {
      const { world, order, memory, mint } = tokenWorld({ policy: { rentAllowanceLamports: 1n } });
      const requested = await world.request(order);
      world.clock.after(60_000, () => memory.giveTokens(mint, TREASURY.address, 0n));
      await carry(world, world.driver(), requested);
      expect(await world.find()).to.include({ status: 'confirmed' });
      expect(world.told[0]).to.match(/rent/);
    });
  });

  describe('of a token to a recipient without an account', () => {
    const RENT = 2_039_280n;
    const MINIMUM = 890_880n;
    function rentWorld(operation: 'withdraw' | 'cashOut', { lamports = 0n, perUser = 2 } = {}) {
      const world = moveWorld();
      world.rentSponsor.caps.perUser = perUser;
      const { memory } = world.simulated;
      const mint = memory.createMint({ decimals: 6 });
      const from = operation === 'withdraw' ? USER : TREASURY;
      const to = operation === 'withdraw' ? walletNamed('elsewhere') : USER;
      memory.giveTokens(mint, from.address, 500n);
      memory.closeAccount(USER.address);
      if (lamports > 0n) memory.fund(USER.address, lamports);
      const account = associatedTokenAddress(to.address, mint.address, mint.program);
      const order = { operation, from, toAddress: to.address, mint: mint.address, decimals: 6, amount: 3n };
      return {
        world,
        memory,
        mint,
        to,
        account,
        async carried(change: Partial<MoveOrder> = {}) {
          await carry(world, world.driver(), await world.request({ ...order, ...change }));
          const found = await world.find(change.key);
          return found?.errorCode ?? found?.status;
        },
        async paid() {
          const executed = await world.simulated.executed();
          const fees = executed.reduce((sum, { feeLamports }) => sum + feeLamports, 0n);
          const gained = executed.map((one) => gainOf(one, FEE_PAYER.address));
          return {
            byApp: -gained.reduce((sum, one) => sum + one, 0n) - fees,
            signers: executed.map(({ signers }) => signers.length),
            left: await world.simulated.lamports(USER.address),
          };
        },
      };
    }

    for (const operation of ['withdraw', 'cashOut'] as const) {
      describe(`${operation}`, () => {
        const signers = operation === 'withdraw' ? 2 : 3;

        it("is paid for by the player's wallet if it has the SOL", async () => {
          for (const [lamports, left] of [
            [RENT, 0n],
            [RENT + MINIMUM, MINIMUM],
          ] as const) {
            const { carried, paid, world } = rentWorld(operation, { lamports, perUser: 0 });
            expect(await carried()).to.equal('confirmed');
            expect(await paid()).to.deep.equal({ byApp: 0n, signers: [signers], left });
            expect(world.rentSponsor.counted()).to.deep.equal([]);
          }
        });

        it('is otherwise paid for by the app, and counted', async () => {
          const { carried, paid, world } = rentWorld(operation, { lamports: RENT + MINIMUM - 1n });
          expect(await carried()).to.equal('confirmed');
          expect(await paid()).to.deep.equal({ byApp: RENT, signers: [2], left: RENT + MINIMUM - 1n });
          const counted = world.rentSponsor.counted().map(({ moveId }) => moveId);
          expect(counted).to.deep.equal([(await world.find())?.moveId]);
        });

        it('fails for good if neither pays', async () => {
          const { carried, paid } = rentWorld(operation, { perUser: 0 });
          expect(await carried()).to.equal('moves/rent_not_sponsored');
          expect(await paid()).to.deep.equal({ byApp: 0n, signers: [], left: 0n });
        });

        it('counts again for an account that was closed', async () => {
          const { carried, world, memory, account } = rentWorld(operation);
          for (const [key, outcome] of [
            ['1', 'confirmed'],
            ['2', 'confirmed'],
            ['3', 'moves/rent_not_sponsored'],
          ] as const) {
            expect(await carried({ key })).to.equal(outcome);
            memory.closeAccount(account);
          }
          expect(world.rentSponsor.counted()).to.have.length(2);
        });

        it('is due when an existing account is gone at the time of signing', async () => {
          const { carried, world, memory, mint, to, account } = rentWorld(operation, { perUser: 0 });
          memory.giveTokens(mint, to.address, 1n);
          world.settings.feePayer = undefined;
          world.clock.after(5_000, () => {
            memory.closeAccount(account);
            world.settings.feePayer = FEE_PAYER;
          });
          expect(await carried()).to.equal('moves/rent_not_sponsored');
        });

        it('costs nobody anything if somebody has paid for it beforehand', async () => {
          const { carried, paid, memory, account, world } = rentWorld(operation, { perUser: 0 });
          memory.fund(account, RENT);
          expect(await carried()).to.equal('confirmed');
          expect(await paid()).to.deep.equal({ byApp: 0n, signers: [signers], left: 0n });
          expect(world.rentSponsor.counted()).to.deep.equal([]);
        });

        it('counts once for a move that takes many attempts', async () => {
          const { carried, paid, world } = rentWorld(operation);
          let sends = 0;
          world.faults.send = (_signature, times) => (times === 1 && ++sends > 2 ? 'land' : 'drop');
          expect(await carried()).to.equal('confirmed');
          expect(await paid()).to.include({ byApp: RENT });
          expect(world.signings.length).to.be.at.least(6);
          expect(world.rentSponsor.counted()).to.have.length(1);
        });
      });
    }

    it('is paid for by the app if the recipient of a cash-out has exported the key', async () => {
      const { carried, paid, world } = rentWorld('cashOut', { lamports: RENT });
      world.settings.kept = [];
      expect(await carried()).to.equal('confirmed');
      expect(await paid()).to.deep.equal({ byApp: RENT, signers: [2], left: RENT });
    });

    it('is paid for by the app for the treasury, and for strangers only if sponsored', async () => {
      for (const [change, outcome] of [
        [{ operation: 'deposit' }, 'confirmed'],
        [{ operation: 'sweep' }, 'confirmed'],
        [{ operation: 'sweep', currencyId: null }, 'moves/rent_not_sponsored'],
      ] as const) {
        const { carried } = rentWorld('withdraw', { perUser: 0 });
        expect(await carried(change)).to.equal(outcome);
      }
    });
  });

  describe('with nothing signed', () => {
    const refused = async (world: MoveWorld, change: Parameters<MoveWorld['request']>[0] = {}) => {
      const requested = await world.request(change);
      await carry(world, world.driver(), requested);
      expect(world.simulated.sent).to.deep.equal([]);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveFailed']);
      return (await world.find())?.errorCode;
    };

    it('fails for good when the source lacks the funds', async () =>
      expect(await refused(moveWorld(), { amount: 101n * SOL })).to.equal('moves/insufficient_source_funds'));

    it('fails for good when an account would be left below the minimum balance', async () => {
      expect(await refused(moveWorld(), { amount: 100n * SOL - 1n })).to.equal('moves/below_rent_minimum');
      const toNobody = { amount: 5n, toAddress: walletNamed('nobody').address };
      expect(await refused(moveWorld(), toNobody)).to.equal('moves/below_rent_minimum');
    });

    it('fails for good when the recipient cannot be paid', async () => {
      const world = moveWorld();
      const { address } = world.simulated.memory.createMint();
      expect(await refused(world, { toAddress: address })).to.equal('moves/recipient_refused');
      expect(await refused(moveWorld(), { toAddress: USER.address })).to.equal('moves/recipient_refused');
    });

    it('fails for good when the chain keeps refusing it in simulation', async () => {
      const world = moveWorld();
      world.faults.simulate = () => '{"InstructionError":[3,{"Custom":6}]}';
      expect(await refused(world)).to.equal('moves/refused_by_chain');
    });

    it('fails for good when the wallet no longer signs', async () => {
      const world = moveWorld();
      world.settings.refuseToSign = () => new Rejection('wallets/not_found');
      expect(await refused(world)).to.equal('moves/wallet_unavailable');
    });

    it('does not fail for a reason met only once', async () => {
      const world = moveWorld();
      let times = 0;
      world.faults.simulate = () => (times++ < 2 ? '{"InstructionError":[3,{"Custom":6}]}' : null);
      await carry(world, world.driver(), await world.request());
      expect(await world.find()).to.include({ status: 'confirmed' });
    });

    for (const [what, breakIt, mend] of [
      [
        'keys are unavailable',
        (world: MoveWorld) => {
          world.settings.refuseToSign = () => new Rejection('wallets/keys_unavailable');
        },
        (world: MoveWorld) => {
          world.settings.refuseToSign = () => undefined;
        },
      ],
      [
        'the fee payer cannot sign',
        (world: MoveWorld) => {
          world.settings.refuseToSign = (id) =>
            id === FEE_PAYER.walletId ? new Rejection('wallets/not_found') : undefined;
        },
        (world: MoveWorld) => {
          world.settings.refuseToSign = () => undefined;
        },
      ],
      [
        'the fee payer is out of SOL',
        ({ simulated }: MoveWorld) => simulated.memory.fund(FEE_PAYER.address, -100n * SOL + 10_000n),
        ({ simulated }: MoveWorld) => simulated.memory.fund(FEE_PAYER.address, SOL),
      ],
      [
        'the app has no fee payer',
        ({ settings }: MoveWorld) => {
          settings.feePayer = undefined;
        },
        ({ settings }: MoveWorld) => {
          settings.feePayer = FEE_PAYER;
        },
      ],
      [
        'the simulation meets temporary trouble',
        ({ faults }: MoveWorld) => {
          faults.simulate = () => '"BlockhashNotFound"';
        },
        ({ faults }: MoveWorld) => {
          faults.simulate = () => null;
        },
      ],
    ] as const) {
      it(`waits while ${what}`, async () => {
        const world = moveWorld();
        breakIt(world);
        const requested = await world.request();
        world.clock.after(120_000, () => mend(world));
        await carry(world, world.driver(), requested);
        expect(await world.find()).to.include({ status: 'confirmed' });
        expect(world.told.filter((line) => line.startsWith('trouble')).length).to.be.within(5, 12);
      });
    }

    it('waits for a chain to be configured, and reports it once', async () => {
      const world = moveWorld();
      world.settings.chainOf = () => undefined;
      const requested = await world.request();
      world.clock.after(60_000, () => {
        world.settings.chainOf = () => world.simulated.chain;
      });
      await carry(world, world.driver(), requested);
      expect(world.told).to.deep.equal(['no chain: test', 'signed', 'confirmed']);
    });
  });
});
