import { Rejection } from '@coffer/kernel';
import { associatedTokenAddress, TOKEN_PROGRAM } from '@coffer/solana';
import { expect } from 'chai';
import { carry, FEE_PAYER, type MoveWorld, moveWorld, TREASURY, USER } from './testing/moveWorld.ts';
import { addressOf } from './testing/simulatedChain.ts';

const SOL = 1_000_000_000n;

describe('what is looked at before a move is signed', () => {
  describe('of a token', () => {
    const MINT = addressOf('mint');
    const accountOf = (owner: string) => associatedTokenAddress(owner, MINT, TOKEN_PROGRAM);
    const tokenWorld = (held = 500n, isFrozen = false) => {
      const world = moveWorld();
      world.simulated.putMint(MINT, 6);
      const source = { address: accountOf(USER.address), mint: MINT, owner: USER.address };
      world.simulated.putTokens({ ...source, amount: held, isFrozen });
      return world;
    };
    const order = { mint: MINT, decimals: 6, amount: 300n };
    const errorOf = async (world: MoveWorld, change: Parameters<MoveWorld['request']>[0] = {}) => {
      await carry(world, world.driver(), await world.request({ ...order, ...change }));
      expect(world.simulated.sent).to.deep.equal([]);
      return (await world.find())?.errorCode;
    };

    it('moves it between the accounts of the two wallets', async () => {
      const world = tokenWorld();
      await carry(world, world.driver(), await world.request(order));
      expect(world.simulated.executed()[0]).to.include({
        mint: MINT,
        from: accountOf(USER.address),
        to: accountOf(TREASURY.address),
        amount: 300n,
      });
      expect(world.simulated.tokens(accountOf(USER.address))).to.equal(200n);
      expect(await world.find()).to.include({ status: 'confirmed' });
    });

    it('finds it again on the chain', async () => {
      const world = tokenWorld();
      const destination = { address: accountOf(TREASURY.address), mint: MINT, owner: TREASURY.address };
      world.simulated.putTokens({ ...destination, amount: 0n });
      const requested = await world.request(order);
      await carry(world, world.driver(), requested);
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
      expect(world.simulated.executed()).to.have.length(1);
    });

    it('fails for good for what the token itself forbids', async () => {
      expect(await errorOf(tokenWorld(299n))).to.equal('moves/insufficient_source_funds');
      expect(await errorOf(tokenWorld(500n, true))).to.equal('moves/source_frozen');
      expect(await errorOf(tokenWorld(), { decimals: 9 })).to.equal('moves/mint_not_supported');
      expect(await errorOf(moveWorld())).to.equal('moves/mint_not_supported');
      const frozen = tokenWorld();
      const account = { address: accountOf(TREASURY.address), mint: MINT, owner: TREASURY.address };
      frozen.simulated.putTokens({ ...account, amount: 0n, isFrozen: true });
      expect(await errorOf(frozen)).to.equal('moves/recipient_refused');
    });

    it('waits where the account of the recipient costs more than is allowed', async () => {
      const world = moveWorld({ rentAllowanceLamports: 1n });
      world.simulated.putMint(MINT, 6);
      const source = { address: accountOf(USER.address), mint: MINT, owner: USER.address };
      world.simulated.putTokens({ ...source, amount: 500n });
      const requested = await world.request(order);
      const destination = { address: accountOf(TREASURY.address), mint: MINT, owner: TREASURY.address };
      world.clock.after(60_000, () => world.simulated.putTokens({ ...destination, amount: 0n }));
      await carry(world, world.driver(), requested);
      expect(await world.find()).to.include({ status: 'confirmed' });
      expect(world.told[0]).to.match(/rent/);
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

    it('fails for good where the source lacks the funds', async () =>
      expect(await refused(moveWorld(), { amount: 101n * SOL })).to.equal('moves/insufficient_source_funds'));

    it('fails for good where the chain would be left with too poor an account', async () => {
      expect(await refused(moveWorld(), { amount: 100n * SOL - 1n })).to.equal('moves/below_rent_minimum');
      const toNobody = { amount: 5n, toAddress: addressOf('nobody') };
      expect(await refused(moveWorld(), toNobody)).to.equal('moves/below_rent_minimum');
    });

    it('fails for good where the recipient cannot be paid', async () => {
      const world = moveWorld();
      world.simulated.putProgramAccount(addressOf('a program'));
      expect(await refused(world, { toAddress: addressOf('a program') })).to.equal('moves/recipient_refused');
      expect(await refused(moveWorld(), { toAddress: USER.address })).to.equal('moves/recipient_refused');
    });

    it('fails for good where the chain would refuse it again and again', async () => {
      const world = moveWorld();
      world.faults.simulate = () => '{"InstructionError":[3,{"Custom":6}]}';
      expect(await refused(world)).to.equal('moves/refused_by_chain');
    });

    it('fails for good where the wallet signs no more', async () => {
      const world = moveWorld();
      world.settings.refuseToSign = () => new Rejection('wallets/not_found');
      expect(await refused(world)).to.equal('moves/wallet_unavailable');
    });

    it('does not fail for a reason that was met once', async () => {
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
        ({ simulated }: MoveWorld) => simulated.fund(FEE_PAYER.address, 10_000n),
        ({ simulated }: MoveWorld) => simulated.fund(FEE_PAYER.address, SOL),
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
        'the simulation meets passing trouble',
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
        world.clock.after(3_600_000, () => mend(world));
        await carry(world, world.driver(), requested);
        expect(await world.find()).to.include({ status: 'confirmed' });
        // For an hour, at last every half minute.
        expect(world.told.filter((line) => line.startsWith('trouble')).length).to.be.within(100, 200);
      });
    }

    it('waits for a chain to be configured, and says so once', async () => {
      const world = moveWorld();
      world.settings.hasChain = false;
      const requested = await world.request();
      world.clock.after(600_000, () => {
        world.settings.hasChain = true;
      });
      await carry(world, world.driver(), requested);
      expect(world.told).to.deep.equal(['no chain: test', 'signed', 'confirmed']);
    });
  });
});
