import { Rejection } from '@coffer/kernel';
import { associatedTokenAddress, buildTransfer, ChainUnreachableError, TOKEN_PROGRAM } from '@coffer/solana';
import { expect } from 'chai';
import { carry, FEE_PAYER, type MoveWorld, moveWorld, TREASURY, USER } from './testing/moveWorld.ts';
import type { SendFate } from './testing/simulatedChain.ts';
import { addressOf } from './testing/simulatedChain.ts';

const SOL = 1_000_000_000n;
const LANDED_AT_ONCE = ['MoveRequested', 'TransactionSigned', 'TransactionSubmitted', 'MoveConfirmed'];

/** Sent `count` times with the fates given; every later send has the last of them. */
const fates = (...given: readonly SendFate[]) => {
  let count = 0;
  return () => given[Math.min(count++, given.length - 1)] ?? 'land';
};
const passing = ({ clock }: MoveWorld, delayMs: number) =>
  new Promise<void>((resolve) => clock.after(delayMs, () => resolve()));
const succeeded = ({ simulated }: MoveWorld) => simulated.executed().filter(({ error }) => error === null);

describe('a driver of moves', () => {
  it('signs, keeps what it signed, sends it, and confirms what is finalized', async () => {
    const world = moveWorld();
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    const [executed] = world.simulated.executed();
    expect(executed).to.include({ from: USER.address, to: TREASURY.address, amount: SOL });
    expect(executed?.signers).to.deep.equal([FEE_PAYER.address, USER.address]);
    expect(await world.find()).to.deep.include({
      status: 'confirmed',
      signature: executed?.signature,
      errorCode: null,
    });
    expect(world.signings).to.deep.equal([
      `wlt_user ${(await world.find())?.moveId} attempt 1`,
      `wlt_feePayer ${(await world.find())?.moveId} attempt 1`,
    ]);
    expect(world.told).to.deep.equal(['signed', 'confirmed']);
  });

  it('sends nothing while the store does not keep what is signed', async () => {
    const world = moveWorld();
    const requested = await world.request();
    const away = 5;
    let appends = 0;
    world.settings.storeFails = () => appends++ < away;
    world.faults.send = () => {
      expect(appends, 'appends before the first send').to.be.greaterThan(away);
      return 'land';
    };
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    expect(world.told.filter((line) => /AssertionError|appends before/.test(line))).to.deep.equal([]);
  });

  it('pays no more than the cap for being quick', async () => {
    // The simulated chain asks for a million lamports a unit.
    const world = moveWorld({ priorityFeeCapLamports: 30_000n, unitLimit: 60_000 });
    await carry(world, world.driver(), await world.request());
    expect(world.simulated.executed()[0]?.priorityFee).to.equal(30_000n);
  });

  it('sends again what was dropped, the same bytes', async () => {
    const world = moveWorld();
    world.faults.send = fates('drop', 'refuse', 'drop', 'land');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    expect(world.simulated.sent.length).to.be.at.least(4);
    expect(new Set(world.simulated.sent).size).to.equal(1);
  });

  it('waits for what lands in the very last block that may hold it', async () => {
    const world = moveWorld();
    world.faults.send = fates('late', 'drop');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
  });

  it('finds what landed though no node answered', async () => {
    const world = moveWorld();
    world.faults.send = fates('landUnheard', 'unreachable');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(succeeded(world)).to.have.length(1);
    expect(await world.find()).to.include({ status: 'confirmed' });
    expect(world.told.filter((line) => line.startsWith('trouble')).length).to.be.at.least(1);
  });

  it('signs anew only when no block can hold the attempt any more', async () => {
    const world = moveWorld();
    const first = new Set<string>();
    world.faults.send = (signature) => {
      if (first.size === 0) first.add(signature);
      return first.has(signature) ? 'drop' : 'land';
    };
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal([
      'MoveRequested',
      'TransactionSigned',
      'TransactionSubmitted',
      'TransactionExpired',
      ...LANDED_AT_ONCE.slice(1),
    ]);
    expect(world.told).to.deep.equal(['signed', 'expired', 'signed', 'confirmed']);
    expect(world.simulated.executed()).to.have.length(1);
  });

  it('gives up for good when so many attempts have expired', async () => {
    const world = moveWorld({ mostAttempts: 3 });
    world.faults.send = () => 'drop';
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.find()).to.include({ status: 'failed', errorCode: 'moves/never_landed' });
    expect(world.told).to.deep.equal([
      ...['signed', 'expired', 'signed', 'expired', 'signed', 'expired'],
      'moves/never_landed',
    ]);
  });

  it('sends again what a fork has thrown out, and confirms nothing before it is finalized', async () => {
    const world = moveWorld();
    let forked = 0;
    let landedAt = Number.POSITIVE_INFINITY;
    world.faults.ask = (method) => {
      const { simulated } = world;
      if (method !== 'statuses' || forked === 2 || simulated.executed().length === 0) return undefined;
      landedAt = Math.min(landedAt, simulated.height());
      // It has been confirmed for a while when it disappears.
      if (simulated.height() < landedAt + 4) return undefined;
      forked += 1;
      landedAt = Number.POSITIVE_INFINITY;
      simulated.fork(8);
      return undefined;
    };
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(forked).to.equal(2);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    expect(world.simulated.executed()).to.have.length(1);
  });

  it('fails for good where the transaction failed on the chain, once that is finalized', async () => {
    const world = moveWorld();
    world.faults.execute = () => '{"InstructionError":[3,{"Custom":1}]}';
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    const [executed] = world.simulated.executed();
    expect(await world.find()).to.include({
      status: 'failed',
      errorCode: 'moves/failed_on_chain',
      signature: executed?.signature,
    });
    expect(world.told).to.deep.equal(['signed', 'moves/failed_on_chain']);
  });

  it('is not misled by nodes that lag', async () => {
    const world = moveWorld();
    let asked = 0;
    world.faults.ask = () => {
      world.faults.lagBlocks = asked++ % 3 === 0 ? 6 : 0;
      return undefined;
    };
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(succeeded(world)).to.have.length(1);
    expect(await world.find()).to.include({ status: 'confirmed' });
  });

  it('goes on for as long as no node answers', async () => {
    const world = moveWorld();
    const requested = await world.request();
    let asked = 0;
    world.faults.ask = () => (asked++ < 200 ? new ChainUnreachableError('Away.') : undefined);
    await carry(world, world.driver(), requested);
    expect(await world.find()).to.include({ status: 'confirmed' });
    expect(succeeded(world)).to.have.length(1);
  });

  for (const [what, change] of [
    ['that somebody else pays the fee of', { feePayer: addressOf('somebody') }],
    ['of another amount', { amount: SOL - 1n }],
  ] as const) {
    it(`does not take for its own a transfer ${what}, though it names the move`, async () => {
      const world = moveWorld();
      const requested = await world.request();
      const { chain } = world.simulated;
      const { blockhash } = await chain.latestBlockhash();
      const foreign = buildTransfer({
        feePayer: FEE_PAYER.address,
        from: USER.address,
        to: TREASURY.address,
        mint: 'native',
        amount: SOL,
        moveId: (await world.find())?.moveId ?? '',
        blockhash,
        priority: { unitLimit: 1, microLamports: 1n },
        createsAccount: false,
        ...change,
      });
      await chain.send(foreign.withSignatures([Buffer.alloc(64, 1), Buffer.alloc(64, 2)]));
      await world.clock.runUntil(passing(world, 10_000));
      await carry(world, world.driver(), requested);
      const [, own] = world.simulated.executed();
      expect(world.simulated.executed()).to.have.length(2);
      expect(await world.find()).to.include({ status: 'confirmed', signature: own?.signature });
    });
  }

  describe('two at one move', () => {
    it('sign once: both send what stands in the stream', async () => {
      const world = moveWorld();
      const requested = await world.request();
      const drivers = [world.driver(), world.driver()];
      await world.clock.runUntil(
        Promise.all(drivers.map((driver) => driver.drive(requested, driver.dying.signal))),
      );
      expect(world.told.filter((line) => line === 'signed')).to.have.length(1);
      expect(new Set(world.simulated.sent).size).to.equal(1);
      expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    });
  });

  describe('after a crash', () => {
    const places = [
      'move.beforeSign',
      'move.signed',
      'move.sent',
      'move.submitted',
      'move.final',
      'move.confirmed',
    ] as const;
    for (const place of places) {
      it(`at ${place} goes on from the stream alone`, async () => {
        const world = moveWorld();
        const requested = await world.request();
        const dying = world.driver(place);
        await carry(world, dying, requested);
        expect(dying.dying.signal.aborted, 'it died there').to.equal(true);
        await carry(world, world.driver(), requested);
        expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
        expect(world.simulated.executed()).to.have.length(1);
      });
    }

    it('at move.expired goes on with the next attempt', async () => {
      const world = moveWorld();
      world.faults.send = () => 'drop';
      const requested = await world.request();
      const dying = world.driver('move.expired');
      await carry(world, dying, requested);
      expect(dying.dying.signal.aborted, 'it died there').to.equal(true);
      world.faults.send = () => 'land';
      await carry(world, world.driver(), requested);
      expect(world.told).to.deep.equal(['signed', 'expired', 'signed', 'confirmed']);
    });

    it('at every place with every send lost pays once', async () => {
      for (const place of places) {
        const world = moveWorld();
        world.faults.send = fates('drop', 'drop', 'landUnheard');
        const requested = await world.request();
        await carry(world, world.driver(place), requested);
        await carry(world, world.driver(), requested);
        expect(succeeded(world), place).to.have.length(1);
        expect(await world.find(), place).to.include({ status: 'confirmed' });
      }
    });
  });

  describe('on a log that was put back to an older copy', () => {
    for (const [left, what] of [
      [1, 'that anything was signed'],
      [0, 'even the request'],
    ] as const) {
      it(`that lost ${what} finds the transfer on the chain and pays nothing twice`, async () => {
        const world = moveWorld();
        await carry(world, world.driver(), await world.request());
        await world.restore(await world.request(), left);
        const requested = await world.request();
        await carry(world, world.driver(), requested);
        expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
        expect(world.simulated.executed()).to.have.length(1);
        expect(await world.find()).to.include({ signature: world.simulated.executed()[0]?.signature });
      });
    }

    it('awaits the end of what is in a block and not yet finalized', async () => {
      const world = moveWorld();
      const requested = await world.request();
      await carry(world, world.driver('move.submitted'), requested);
      await world.clock.runUntil(passing(world, 1_000));
      expect(world.simulated.executed(), 'it is in a block').to.have.length(1);
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
      expect(world.simulated.executed()).to.have.length(1);
    });

    it('under a running driver signs nothing while what it has sent before may land', async () => {
      const world = moveWorld();
      let first = '';
      world.faults.send = (signature, times) => {
        first ||= signature;
        if (signature !== first) return 'land';
        return times === 1 ? 'late' : 'drop';
      };
      const requested = await world.request();
      const driver = world.driver();
      let losses = 0;
      world.faults.ask = (method) => {
        // The copy that takes over is older than the signature, and the chain does not know it yet.
        if (method === 'statuses' && losses++ === 0) void world.restore(requested, 1);
        return losses === 1 && method === 'statuses' ? new ChainUnreachableError('Away.') : undefined;
      };
      const interrupting = new AbortController();
      const interrupted = driver.drive(requested, interrupting.signal).catch(() => undefined);
      world.clock.after(1_500, () => interrupting.abort());
      await world.clock.runUntil(interrupted);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested']);
      await carry(world, driver, requested);
      expect(succeeded(world)).to.have.length(1);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
    });

    it('fails again what had failed on the chain', async () => {
      const world = moveWorld();
      world.faults.execute = () => '{"InstructionError":[3,{"Custom":1}]}';
      const requested = await world.request();
      await carry(world, world.driver(), requested);
      world.faults.execute = () => null;
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.find()).to.include({ status: 'failed', errorCode: 'moves/failed_on_chain' });
      expect(world.simulated.executed()).to.have.length(1);
    });
  });

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
