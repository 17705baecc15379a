import { NotYetError } from '@coffer/consumers';
import type { StreamEvent } from '@coffer/event-store';
import { ChainUnreachableError } from '@coffer/solana';
import { expect } from 'chai';
import { carry, FEE_PAYER, type MoveWorld, moveWorld } from './testing/moveWorld.ts';

const SOL = 1_000_000_000n;
const LANDED_AT_ONCE = ['MoveRequested', 'TransactionSigned', 'TransactionSubmitted', 'MoveConfirmed'];

const passing = ({ clock }: MoveWorld, delayMs: number) =>
  new Promise<void>((resolve) => clock.after(delayMs, () => resolve()));

describe('a driver of a move that has to wait', () => {
  const attempt = (world: MoveWorld, driver: ReturnType<MoveWorld['driver']>, requested: StreamEvent) =>
    world.clock.runUntil(
      driver.driveOnce(requested, driver.dying.signal).then(
        () => 'ended',
        (error: unknown) => error,
      ),
    );

  for (const [what, hold, release] of [
    [
      'for SOL for the fee payer',
      ({ simulated }) => simulated.memory.fund(FEE_PAYER.address, -100n * SOL),
      ({ simulated }) => simulated.memory.fund(FEE_PAYER.address, 100n * SOL),
    ],
    [
      'for a chain',
      ({ settings }) => {
        settings.chainOf = () => undefined;
      },
      ({ settings, simulated }) => {
        settings.chainOf = () => simulated.chain;
      },
    ],
    [
      'for clearance',
      ({ settings }) => {
        settings.isCleared = () => false;
      },
      ({ settings }) => {
        settings.isCleared = () => true;
      },
    ],
    [
      'for a node that answers',
      ({ faults }) => {
        faults.ask = () => new ChainUnreachableError('Away.');
      },
      ({ faults }) => {
        faults.ask = () => undefined;
      },
    ],
  ] as readonly [string, (world: MoveWorld) => void, (world: MoveWorld) => void][]) {
    it(`${what} gives its place back at once, and carries it on when it is called again`, async () => {
      const world = moveWorld();
      const requested = await world.request();
      const driver = world.driver();
      hold(world);
      for (let times = 0; times < 3; times++) {
        const before = world.clock.nowMs();
        expect(await attempt(world, driver, requested)).to.be.instanceOf(NotYetError);
        expect(world.clock.nowMs(), 'without a pause').to.equal(before);
        await world.clock.runUntil(passing(world, 60_000));
      }
      release(world);
      expect(await attempt(world, driver, requested)).to.equal('ended');
      expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
    });
  }

  it('for SOL for the fee payer asks the chain hardly anything, however many there are', async () => {
    const world = moveWorld();
    world.simulated.memory.fund(FEE_PAYER.address, -100n * SOL);
    const requested = await Promise.all(
      Array.from({ length: 20 }, (_, index) => world.request({ key: `ref-${index}` })),
    );
    const asked = new Map<string, number>();
    world.faults.ask = (method) => {
      asked.set(method, (asked.get(method) ?? 0) + 1);
      return undefined;
    };
    const driver = world.driver();
    await Promise.all(requested.map((one) => attempt(world, driver, one)));
    expect(Object.fromEntries(asked)).to.deep.equal({ accounts: 1, rentMinimum: 1, transactionsOf: 20 });
  });

  it('but is on the chain already ends it, even if the fee payer is empty', async () => {
    const world = moveWorld();
    const requested = await world.request();
    await carry(world, world.driver(), requested);
    await world.restore(requested, 1);
    world.simulated.memory.fund(FEE_PAYER.address, -(await world.simulated.lamports(FEE_PAYER.address)));
    expect(await attempt(world, world.driver(), requested)).to.equal('ended');
    expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
  });

  it('keeps its place while something may land, whatever goes wrong', async () => {
    const world = moveWorld();
    const requested = await world.request();
    let sent = 0;
    world.faults.send = () => {
      sent += 1;
      return 'land';
    };
    let failures = 0;
    // Nothing can be written once it is sent.
    world.settings.storeFails = () => sent > 0 && failures++ < 5;
    const driver = world.driver();
    await world.clock.runUntil(driver.driveOnce(requested, driver.dying.signal));
    expect(failures).to.be.greaterThan(5);
    expect(await world.eventsOf(requested)).to.deep.equal(LANDED_AT_ONCE);
  });
});
