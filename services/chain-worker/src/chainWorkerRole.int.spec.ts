import {
  consumerMigrations,
  createConsumersTable,
  type MonotonicClock,
  monotonicClock,
} from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import { type CommandHandler, createCommandHandler, type EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createLogger, createMetricsRegistry, type Registry } from '@coffer/http';
import { createMoves, treasuryMovePlace } from '@coffer/moves';
import {
  createSimulatedChain,
  depositOf,
  FEE_PAYER,
  memoryRentSponsor,
  type SimulatedChain,
  signAs,
  TREASURY,
  USER,
} from '@coffer/moves/testing';
import { createTestDatabase, patiently, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { type ChainWorkerRole, startChainWorkerRole } from './chainWorkerRole.ts';
import { chainWorkerMigrations, pauseSigning } from './signingPause.ts';

const APP = depositOf().appId;
const SOL = 1_000_000_000n;
const EVERY_LOOK_MS = 30_000;

describe('the role that carries moves', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  let handler: CommandHandler;
  let simulated: SimulatedChain;
  let running: ChainWorkerRole[];

  beforeEach(async () => {
    database = await createTestDatabase({ name: 'chainWorker', prepare });
    pool = database.pool;
    store = createMemoryEventStore();
    handler = createCommandHandler({ store });
    simulated = createSimulatedChain(monotonicClock, 10);
    simulated.memory.fund(USER.address, 100n * SOL);
    simulated.memory.fund(FEE_PAYER.address, 7n * SOL);
    running = [];
  });

  afterEach(async () => {
    await Promise.all(running.map((role) => role.stop()));
    simulated.stop();
    await store.close();
    await database.drop();
  });

  it('carries moves requested before and after its start, and counts them', async () => {
    await request('ref-before');
    const { registry } = start();
    await request('ref-after');
    await ended('ref-before');
    await ended('ref-after');
    expect(await simulated.lamports(TREASURY.address)).to.equal(2n * SOL);

    await shows(registry, 'coffer_moves_in_flight{environment="test"} 0');
    await shows(registry, 'coffer_move_attempts_total{environment="test"} 2');
    await shows(registry, 'coffer_move_confirmed_seconds_count{environment="test"} 2');
    await shows(registry, 'coffer_chain_reachable{environment="test"} 1');
    await shows(registry, `coffer_fee_payer_balance_lamports{app="${APP}",environment="test"} 7000000000`);
    await shows(registry, `coffer_fee_payer_low{app="${APP}",environment="test"} 0`);
    expect(await registry.metrics()).not.to.include('coffer_chain_reachable{environment="live"}');
  });

  it('stops at once with moves in flight, and its successor carries them on', async () => {
    simulated.faults.send = () => 'drop';
    await request('ref-1');
    const first = start();
    await until(() => simulated.sent.length > 0);
    await shows(first.registry, 'coffer_moves_in_flight{environment="test"} 1');
    await first.role.stop();
    expect(first.logged()).to.deep.equal([]);

    simulated.faults.send = () => 'land';
    start();
    await ended('ref-1');
    expect(await simulated.lamports(TREASURY.address)).to.equal(SOL);
    expect(new Set(simulated.sent).size, 'the same bytes').to.equal(1);
  });

  it('signs nothing after a restore until everything sent before is final or lost', async () => {
    await pauseSigning(pool);
    await request('ref-1');
    const first = start();
    await until(() => first.logged().length > 0);
    await first.role.stop();
    expect(simulated.sent).to.deep.equal([]);

    // The height is fixed at the first look: a later start does not begin the wait again.
    const { rows } = await pool.query('select until_block_height from records.chain_signing_pauses');
    simulated.memory.advancePast(BigInt(rows.find((row) => row.until_block_height)?.until_block_height));
    start();
    await ended('ref-1');
    expect(await simulated.lamports(TREASURY.address)).to.equal(SOL);
    const { rowCount } = await pool.query(
      "select 1 from records.chain_signing_pauses where environment = 'test'",
    );
    expect(rowCount).to.equal(0);
  });

  it('logs one line for the same trouble, and why a move failed', async () => {
    await request('ref-1', 101n * SOL);
    await request('ref-2', 101n * SOL);
    const { registry, logged } = start();
    await ended('ref-1');
    await ended('ref-2');
    await shows(
      registry,
      'coffer_moves_failed_total{environment="test",code="moves/insufficient_source_funds"} 2',
    );
    expect(logged()).to.have.length(1);
    expect(logged()[0]).to.include({ environment: 'test', times: 1 });
  });

  it('logs once that a fee payer runs low, and that it has enough again', async () => {
    const looks: (() => void)[] = [];
    const clock: MonotonicClock = {
      ...monotonicClock,
      after(delayMs, run) {
        if (delayMs < EVERY_LOOK_MS) return monotonicClock.after(delayMs, run);
        looks.push(run);
        return () => {};
      },
    };
    const { registry, logged } = start(clock);
    const look = async (lamports: bigint, isLow: boolean) => {
      await until(() => looks.length > 0);
      simulated.memory.closeAccount(FEE_PAYER.address);
      simulated.memory.fund(FEE_PAYER.address, lamports);
      looks.shift()?.();
      const labels = `{app="${APP}",environment="test"}`;
      await shows(registry, `coffer_fee_payer_balance_lamports${labels} ${lamports}`);
      await shows(registry, `coffer_fee_payer_low${labels} ${Number(isLow)}`);
    };
    await look(SOL, false);
    expect(logged()).to.deep.equal([]);
    await look(SOL - 1n, true);
    await look(SOL - 2n, true);
    expect(logged()).to.have.length(1);
    expect(logged()[0]).to.include({
      appId: APP,
      environment: 'test',
      address: FEE_PAYER.address,
      lamports: '999999999',
    });
    await look(2n * SOL, false);
    await look(SOL - 3n, true);
    expect(logged()).to.have.length(2);
  });

  function start(clock: MonotonicClock = monotonicClock) {
    const lines: Record<string, unknown>[] = [];
    const registry = createMetricsRegistry();
    const role = startChainWorkerRole({
      pool,
      store,
      handler,
      chainOf: (environment) => (environment === 'test' ? simulated.chain : undefined),
      signer: {
        sign: async ({ walletId }, message) => signAs(walletId, message),
      },
      feePayerOf: async () => FEE_PAYER,
      walletAt: async () => undefined,
      rentSponsor: memoryRentSponsor(),
      feePayerLowLamports: SOL,
      clock,
      feePayers: async () => [{ appId: APP, environment: 'test', address: FEE_PAYER.address }],
      policy: { pollIntervalMs: 10, resendIntervalMs: 20, firstRetryMs: 5 },
      registry,
      logger: createLogger({ level: 'warn', destination: { write: (line) => lines.push(JSON.parse(line)) } }),
      onAlarm: ({ error }) => expect.fail(error.message),
      onTrouble: ({ error }) => lines.push({ error }),
    });
    running.push(role);
    return { role, registry, logged: () => lines };
  }

  async function request(key: string, amount = SOL): Promise<void> {
    await createMoves({ handler, store }).request(
      treasuryMovePlace('test', APP, key),
      depositOf({ key, amount, requestedAt: new Date().toISOString() }),
      {
        metadata: { correlationId: 'request-1', actor: 'key:1', occurredAt: new Date().toISOString() },
        deadlineMs: patiently(),
      },
    );
  }

  const ended = (key: string) =>
    until(async () => {
      const place = treasuryMovePlace('test', APP, key);
      const found = await createMoves({ handler, store }).find(place, {
        deadlineMs: patiently(),
      });
      return found?.status === 'confirmed' || found?.status === 'failed';
    });
});

async function prepare(pool: Pool): Promise<void> {
  await migrate(pool, [consumerMigrations, chainWorkerMigrations]);
  await createConsumersTable(pool, 'records');
}

const shows = (registry: Registry, line: string) =>
  until(async () => (await registry.metrics()).includes(line));
