/** One app with its wallets on a simulated chain, and as many drivers as a spec wants. */

import { backOffMs, type MonotonicClock, NotYetError } from '@coffer/consumers';
import { createCommandHandler, type EventStore, type StreamEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { type Environment, type FailPointName, noFailPoint } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';
import { testWallet } from '@coffer/solana/testing';
import { patiently } from '@coffer/testing';
import type { MoveSigner } from '../attempt.ts';
import { treasuryMovePlace } from '../domain/moveIds.ts';
import { createMoveDriver, type MoveDriver } from '../driver.ts';
import { MOVE_REACTOR } from '../move.reactions.ts';
import { createMoves } from '../moves.ts';
import { DEFAULT_POLICY, type MovePolicy } from '../policy.ts';
import type { MoveOrder, MoveState, PayingWallet } from '../types.ts';
import { pauseOn } from '../waiting.ts';
import { memoryRentSponsor } from './memoryRentSponsor.ts';
import { createSimulatedChain } from './simulatedChain.ts';
import { simulatedClock } from './simulatedClock.ts';

const APP = 'app_01h455vb4pex5vsknk084sn02q';
const AT = new Date('2026-01-31T12:00:00.000Z');
const SOL = 1_000_000_000n;

export const walletNamed = (name: string): PayingWallet => ({
  walletId: `wlt_${name}`,
  ownerId: APP,
  address: testWallet(`wlt_${name}`).address,
});
export const signAs = (walletId: string, message: Uint8Array): Uint8Array =>
  testWallet(walletId).sign(message);

export const USER = walletNamed('user');
export const TREASURY = walletNamed('treasury');
export const FEE_PAYER = walletNamed('feePayer');

export const depositOf = (change: Partial<MoveOrder> = {}): MoveOrder => ({
  operation: 'deposit',
  key: 'ref-1',
  appId: APP,
  userId: 'usr_01h455vb4pex5vsknk084sn02q',
  currencyId: 1,
  mint: 'native',
  decimals: 9,
  amount: SOL,
  from: USER,
  toAddress: TREASURY.address,
  requestedAt: AT.toISOString(),
  ...change,
});

export type MoveWorld = ReturnType<typeof moveWorld>;

export function moveWorld(policy: Partial<MovePolicy> = {}) {
  const clock = simulatedClock();
  const simulated = createSimulatedChain(clock);
  for (const { address } of [USER, TREASURY, FEE_PAYER]) simulated.memory.fund(address, 100n * SOL);
  let log: EventStore = createMemoryEventStore();
  const store: EventStore = {
    ...log,
    async append(request) {
      if (settings.storeFails()) throw new Error('The store is away.');
      return log.append(request);
    },
    readStream: (stream, options) => log.readStream(stream, options),
    readTails: (tails, limit) => log.readTails(tails, limit),
    heads: (streams) => log.heads(streams),
  };
  let handler = createCommandHandler({ store });
  const rentSponsor = memoryRentSponsor();
  const told: string[] = [];
  const signings: string[] = [];
  const settings = {
    chainOf: (_environment: Environment): Chain | undefined => simulated.chain,
    storeFails: () => false,
    feePayer: FEE_PAYER as PayingWallet | undefined,
    refuseToSign: (_walletId: string): Error | undefined => undefined,
    isCleared: () => true,
    /** The wallets whose keys are kept, in addition to those of the order. */
    kept: [USER] as PayingWallet[],
  };
  const signer: MoveSigner = {
    async sign({ walletId }, message, { purpose }) {
      const refusal = settings.refuseToSign(walletId);
      if (refusal) throw refusal;
      signings.push(`${walletId} ${purpose}`);
      return signAs(walletId, message);
    },
  };
  const context = () => ({
    metadata: { correlationId: 'request-1', actor: 'key:1', occurredAt: AT.toISOString() },
    deadlineMs: patiently(),
  });

  return {
    clock,
    simulated,
    faults: simulated.faults,
    settings,
    told,
    signings,
    rentSponsor,
    /** With separate memory, like another process; it dies at the fail point. */
    driver(dieAt?: FailPointName): Driver {
      const dying = new AbortController();
      const failPoint = (name: FailPointName) => {
        if (name !== dieAt || dying.signal.aborted) return;
        dying.abort(new Error(`died at ${name}`));
        throw dying.signal.reason;
      };
      const driver = createMoveDriver({
        chainOf: (environment) => settings.chainOf(environment),
        signer,
        feePayerOf: async () => settings.feePayer,
        walletAt: async (_environment, address) => settings.kept.find((one) => one.address === address),
        rentSponsor,
        requireClearance: async () => {
          if (!settings.isCleared()) throw new Error('Nothing is signed now.');
        },
        // Like another process: a separate cache, the same log.
        handler: createCommandHandler({ store }),
        clock,
        wallClock: () => new Date(AT.getTime() + clock.nowMs()),
        policy: { ...DEFAULT_POLICY, ...policy },
        hooks: {
          onTrouble: ({ error }) => void told.push(`trouble: ${error instanceof Error ? error.message : ''}`),
          onNoChain: (environment) => void told.push(`no chain: ${environment}`),
          onSigned: () => void told.push('signed'),
          onExpired: () => void told.push('expired'),
          onEnded: (_environment, { code }) => void told.push(code ?? 'confirmed'),
        },
        failPoint: dieAt === undefined ? noFailPoint : failPoint,
      });
      return {
        drive: (requested, signal) => driveOn(driver, clock, requested, signal),
        driveOnce: driver.drive,
        dying,
      };
    },
    async request(change: Partial<MoveOrder> = {}, environment: Environment = 'test'): Promise<StreamEvent> {
      const order = depositOf(change);
      const place = treasuryMovePlace(environment, APP, order.key);
      return (await createMoves({ handler, store }).request(place, order, context())).requested;
    },
    find: (key = 'ref-1', environment: Environment = 'test'): Promise<MoveState | undefined> =>
      createMoves({ handler, store }).find(treasuryMovePlace(environment, APP, key), context()),
    async eventsOf({ stream }: StreamEvent): Promise<string[]> {
      const types: string[] = [];
      for await (const page of store.readStream(stream)) types.push(...page.map(({ type }) => type));
      return types;
    },
    /** Restores the log from an older copy: only the first events of this stream remain. */
    async restore({ stream }: StreamEvent, left: number): Promise<void> {
      const kept: StreamEvent[] = [];
      for await (const page of store.readStream(stream)) kept.push(...page);
      const older = createMemoryEventStore();
      if (left > 0) {
        const events = kept
          .slice(0, left)
          .map(({ id, type, data, metadata }) => ({ id, type, data, metadata }));
        await older.append({ stream, expectedRevision: 'noStream', events });
      }
      log = older;
      handler = createCommandHandler({ store });
    },
  };
}

interface Driver extends MoveDriver {
  /** Throws a `NotYetError` if the move has to wait; `drive` calls it again and again. */
  readonly driveOnce: MoveDriver['drive'];
  readonly dying: AbortController;
}

/** Until the move's end is in the log, or the driver has died. */
export function carry(world: MoveWorld, driver: Driver, requested: StreamEvent): Promise<void> {
  const { signal } = driver.dying;
  const done = driver.drive(requested, signal).catch((error: unknown) => {
    if (error !== signal.reason) throw error;
  });
  return world.clock.runUntil(done);
}

/** Like the reactor, which calls again as long as the move has to wait. */
async function driveOn(
  driver: MoveDriver,
  clock: MonotonicClock,
  requested: StreamEvent,
  signal: AbortSignal,
): Promise<void> {
  const { firstRetryMs, mostRetryMs } = MOVE_REACTOR;
  for (let waits = 1; ; waits += 1) {
    try {
      return await driver.drive(requested, signal);
    } catch (error) {
      if (!(error instanceof NotYetError)) throw error;
      await pauseOn(clock, backOffMs(waits, firstRetryMs, mostRetryMs), signal);
    }
  }
}
