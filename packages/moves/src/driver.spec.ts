import { buildTransfer, ChainUnreachableError, referenceOf } from '@coffer/solana';
import { expect } from 'chai';
import { treasuryMovePlace } from './domain/moveIds.ts';
import {
  carry,
  depositOf,
  FEE_PAYER,
  type MoveWorld,
  moveWorld,
  signAs,
  TREASURY,
  USER,
  walletNamed,
} from './testing/moveWorld.ts';
import { gainOf, type SendFate } from './testing/simulatedChain.ts';

const SOL = 1_000_000_000n;
const LANDED_AT_ONCE = ['MoveRequested', 'TransactionSigned', 'TransactionSubmitted', 'MoveConfirmed'];

/** Each send gets the next of the given fates; further sends get the last. */
const fates = (...given: readonly SendFate[]) => {
  let count = 0;
  return () => given[Math.min(count++, given.length - 1)] ?? 'land';
};
const SOMEBODY = walletNamed('somebody');
const nameOf = new Map([USER, FEE_PAYER, SOMEBODY].map(({ address, walletId }) => [address, walletId]));
const passing = ({ clock }: MoveWorld, delayMs: number) =>
  new Promise<void>((resolve) => clock.after(delayMs, () => resolve()));
const succeeded = async ({ simulated }: MoveWorld) =>
  (await simulated.executed()).filter(({ error }) => error === null);
/** The source is emptied between the simulation and the block. */
const emptied = ({ faults, simulated }: MoveWorld) => {
  faults.send = (_signature, times) => {
    if (times === 1) simulated.memory.fund(USER.address, -100n * SOL);
    return 'land';
  };
};

describe('a driver of moves', () => {
  it('signs, stores what it signed, sends it, and confirms what is finalized', async () => {
    const world = moveWorld();
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    const [executed] = await world.simulated.executed();
    expect(gainOf(executed, USER.address)).to.equal(-SOL);
    expect(gainOf(executed, TREASURY.address)).to.equal(SOL);
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

  it('sends nothing until the store has what was signed', async () => {
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

  it('makes eight calls before it signs a move, and shares those that are the same for all', async () => {
    const world = moveWorld();
    const asked = new Map<string, number>();
    world.faults.ask = (method) => {
      const isAfterwards = method === 'send' || method === 'statuses';
      if (!isAfterwards) asked.set(method, (asked.get(method) ?? 0) + 1);
      return undefined;
    };
    const driver = world.driver();
    const carryAll = async (...keys: readonly string[]) => {
      const requested = await Promise.all(keys.map((key) => world.request({ key })));
      await Promise.all(requested.map((one) => carry(world, driver, one)));
    };
    await carryAll('ref-1');
    expect(Object.fromEntries(asked)).to.deep.equal({
      transactionsOf: 1,
      accounts: 2,
      rentMinimum: 2,
      recentPriorityFee: 1,
      latestBlockhash: 1,
      simulate: 1,
    });
    asked.clear();
    await carryAll('ref-2', 'ref-3', 'ref-4');
    expect(Object.fromEntries(asked)).to.include({ latestBlockhash: 1, simulate: 3 });
  });

  it('pays a priority fee up to its cap', async () => {
    const world = moveWorld({ priorityFeeCapLamports: 30_000n, unitLimit: 60_000 });
    world.simulated.memory.setPriorityFee(10n ** 12n);
    await carry(world, world.driver(), await world.request());
    expect((await world.simulated.executed())[0]?.feeLamports).to.equal(10_000n + 30_000n);
  });

  it('resends dropped transactions, byte for byte', async () => {
    const world = moveWorld();
    world.faults.send = fates('drop', 'refuse', 'drop', 'land');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    expect(world.simulated.sent.length).to.be.at.least(4);
    expect(new Set(world.simulated.sent).size).to.equal(1);
  });

  it('waits for a transaction that lands just before it would expire', async () => {
    const world = moveWorld();
    world.faults.send = fates('late', 'drop');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
  });

  it('finds a transaction that landed although no node answered', async () => {
    const world = moveWorld();
    world.faults.send = fates('landUnheard', 'unreachable');
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await succeeded(world)).to.have.length(1);
    expect(await world.find()).to.include({ status: 'confirmed' });
    expect(world.told.filter((line) => line.startsWith('trouble')).length).to.be.at.least(1);
  });

  it('signs again only when no block can contain the attempt any longer', async () => {
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
    expect(await world.simulated.executed()).to.have.length(1);
  });

  it('fails for good after a number of expired attempts', async () => {
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

  it('resends what a fork dropped, and confirms nothing before it is finalized', async () => {
    const world = moveWorld();
    const { memory } = world.simulated;
    let forked = 0;
    let askedSince = 0;
    let sentAt = 0n;
    world.faults.send = () => {
      sentAt = memory.blockHeight('processed');
      return 'land';
    };
    world.faults.ask = (method) => {
      if (method !== 'statuses') return undefined;
      askedSince += 1;
      // It has been confirmed for a while when it disappears.
      if (forked === 2 || askedSince < 5) return undefined;
      forked += 1;
      askedSince = 0;
      // Back to where it was sent: its blockhash is older.
      world.simulated.fork(Number(memory.blockHeight('processed') - sentAt));
      return undefined;
    };
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(forked).to.equal(2);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    expect(await world.simulated.executed()).to.have.length(1);
  });

  it('fails for good when the transaction failed on the chain, once that is finalized', async () => {
    const world = moveWorld();
    emptied(world);
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    const [executed] = await world.simulated.executed();
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
      world.faults.lags = asked++ % 3 === 0;
      return undefined;
    };
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    expect(await succeeded(world)).to.have.length(1);
    expect(await world.find()).to.include({ status: 'confirmed' });
  });

  it('keeps trying as long as no node answers', async () => {
    const world = moveWorld();
    const requested = await world.request();
    let asked = 0;
    world.faults.ask = () => (asked++ < 12 ? new ChainUnreachableError('Away.') : undefined);
    await carry(world, world.driver(), requested);
    expect(await world.find()).to.include({ status: 'confirmed' });
    expect(await succeeded(world)).to.have.length(1);
  });

  for (const [what, change] of [
    ['that somebody else pays the fee of', { feePayer: SOMEBODY.address }],
    ['of another amount', { amount: SOL - 1n }],
  ] as const) {
    it(`does not mistake for its own a transfer ${what} that names the move`, async () => {
      const world = moveWorld();
      const requested = await world.request();
      const { chain, memory } = world.simulated;
      memory.fund(SOMEBODY.address, SOL);
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
      const [payer = '', source = ''] = foreign.signers.map((address) => nameOf.get(address));
      await chain.send(
        foreign.withSignatures([signAs(payer, foreign.message), signAs(source, foreign.message)]),
      );
      await world.clock.runUntil(passing(world, 10_000));
      await carry(world, world.driver(), requested);
      const own = (await world.simulated.executed()).at(-1);
      expect(await world.simulated.executed()).to.have.length(2);
      expect(await world.find()).to.include({ status: 'confirmed', signature: own?.signature });
    });
  }

  it('pays nothing to the references of other moves, which would then count as paid as well', async () => {
    const world = moveWorld();
    for (const other of ['ref-1', 'ref-2', 'ref-3', 'ref-4', 'ref-5', 'ref-6', 'ref-7', 'ref-8']) {
      const toAddress = referenceOf(treasuryMovePlace('test', depositOf().appId, other).moveId);
      const key = `to ${other}`;
      await carry(world, world.driver(), await world.request({ key, operation: 'withdraw', toAddress }));
      expect(await world.find(key)).to.include({ status: 'failed', errorCode: 'moves/recipient_refused' });
    }
    expect(world.simulated.sent).to.deep.equal([]);
  });

  describe('two drivers of one move', () => {
    it('sign once: both send what is in the stream', async () => {
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
      it(`at ${place} resumes from the stream alone`, async () => {
        const world = moveWorld();
        const requested = await world.request();
        const dying = world.driver(place);
        await carry(world, dying, requested);
        expect(dying.dying.signal.aborted, 'it died there').to.equal(true);
        await carry(world, world.driver(), requested);
        expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
        expect(await world.simulated.executed()).to.have.length(1);
      });
    }

    it('at move.expired continues with the next attempt', async () => {
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
        expect(await succeeded(world), place).to.have.length(1);
        expect(await world.find(), place).to.include({ status: 'confirmed' });
      }
    });
  });

  describe('on a log restored from an older copy', () => {
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
        expect(await world.simulated.executed()).to.have.length(1);
        expect(await world.find()).to.include({
          signature: (await world.simulated.executed())[0]?.signature,
        });
      });
    }

    it('waits until a transaction in a block is finalized', async () => {
      const world = moveWorld();
      const requested = await world.request();
      await carry(world, world.driver('move.submitted'), requested);
      await world.clock.runUntil(passing(world, 1_000));
      const [inBlock] = await world.simulated.memory.statuses(world.simulated.sent);
      expect(inBlock?.commitment).to.equal('confirmed');
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
      expect(await world.simulated.executed()).to.have.length(1);
    });

    it('signs nothing while what a running driver sent earlier may land', async () => {
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
        // The standby that takes over is older than the signature, and the chain does not know it yet.
        if (method === 'statuses' && losses++ === 0) void world.restore(requested, 1);
        return losses === 1 && method === 'statuses' ? new ChainUnreachableError('Away.') : undefined;
      };
      const interrupting = new AbortController();
      const interrupted = driver.drive(requested, interrupting.signal).catch(() => undefined);
      world.clock.after(1_500, () => interrupting.abort());
      await world.clock.runUntil(interrupted);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested']);
      await carry(world, driver, requested);
      expect(await succeeded(world)).to.have.length(1);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
    });

    it('signs nothing before it gets clearance, and then finds what another process sent last', async () => {
      const world = moveWorld();
      const requested = await world.request();
      // Sent, but in no block for a while: it cannot be found there.
      world.faults.send = (_signature, times) => (times === 1 ? 'late' : 'drop');
      await carry(world, world.driver('move.sent'), requested);
      await world.restore(requested, 1);
      let asked = 0;
      world.settings.isCleared = () => ++asked > 10;
      await carry(world, world.driver(), requested);
      expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
      expect(await world.simulated.executed()).to.have.length(1);
    });

    it('fails again a move that had failed on the chain', async () => {
      const world = moveWorld();
      emptied(world);
      const requested = await world.request();
      await carry(world, world.driver(), requested);
      world.simulated.memory.fund(USER.address, 100n * SOL);
      await world.restore(requested, 1);
      await carry(world, world.driver(), requested);
      expect(await world.find()).to.include({ status: 'failed', errorCode: 'moves/failed_on_chain' });
      expect(await world.simulated.executed()).to.have.length(1);
    });
  });
});
