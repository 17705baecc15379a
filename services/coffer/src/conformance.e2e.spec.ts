/**
 * A random run with faults, explained by the order of its log. Clients play concurrently against two services on one
 * database that are killed again and again; replies are lost, requests doubled, delayed and repeated. Afterwards the
 * log, fed to the executable model event by event, must explain every answer and the whole content of the read models.
 * The seed determines what the clients ask for and how often the network fails them; which request meets which fault,
 * and which requests meet in the service, depends on the machine.
 */
import { AssertionError } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';
import { readCheckpoint } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  type Client,
  createClient,
  requireStatus,
  setUpApp,
  type TestApp,
} from '@coffer/host/testing';
import type { Environment } from '@coffer/kernel';
import { type Explained, explain, type Run, SEED } from '@coffer/ledger/testing';
import { liveReadSchema, READ_MODELS_CONSUMER } from '@coffer/read-models';
import {
  createTestDatabase,
  eventually,
  givenBrokers,
  type Random,
  randomFrom,
  type TestDatabase,
} from '@coffer/testing';
import { expect } from 'chai';
import { balancesByTopics } from './testing/balancesByTopics.ts';
import { checkLog, eventOf } from './testing/books.ts';
import { createRecorder, type Fault, type KeyedPlace } from './testing/conformance/attempts.ts';
import { expectedRows, storedRows } from './testing/conformance/expectedRows.ts';
import { createKilledNodes } from './testing/conformance/killedNodes.ts';
import type { Row } from './testing/conformance/rows.ts';
import { beginnings, type Step, scriptOf } from './testing/conformance/workload.ts';
import { delegatingClient } from './testing/delegatingClient.ts';
import {
  OPERATOR_TOKEN,
  SEVERAL_THREADS,
  type ServiceProcess,
  serviceProcesses,
  type Variables,
} from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const CLIENTS = 8;
const STEPS = 1_000;
const PLAYERS = 3;
const PAUSE_MS = 40;
/** If there is a broker, the nodes that are killed are relays too. */
const BROKERS = givenBrokers();
const TOPIC_PREFIX = `conformance-${process.pid}`;
const RELAY: Variables = BROKERS ? { KAFKA_BROKERS: BROKERS, COFFER_KAFKA_TOPIC_PREFIX: TOPIC_PREFIX } : {};

/** A run with less coverage than this would prove little. */
const REACHED: readonly string[] = [
  'credit answered',
  'credit replayed',
  'credit accounts/idempotency_conflict',
  'debit answered',
  'open open',
  'open replayed',
  'open users/not_found',
  'open ledger/unknown_currency',
  'open ledger/insufficient_funds',
  'open ledger/transaction_conflict',
  'bet accepted',
  'bet replayed',
  'bet ledger/session_not_found',
  'bet ledger/transaction_conflict',
  'bet ledger/bet_rolled_back',
  'bet ledger/session_settled',
  'bet ledger/insufficient_balance',
  'win accepted',
  'win replayed',
  'win ledger/bet_not_found',
  'win ledger/bet_rolled_back',
  'win ledger/not_a_bet',
  'rollback rolled_back',
  'rollback remembered',
  'rollback already_rolled_back',
  'rollback replayed',
  'rollback ledger/bet_already_won',
  'settle settled',
  'settle replayed',
  'settle ledger/transaction_conflict',
  'lock locked',
  'lock replayed',
  'lock users/not_found',
  'lock custody/unknown_currency',
  'lock custody/idempotency_conflict',
  'lock custody/pool_closed',
  'lock custody/insufficient_funds',
  'confirm confirmed',
  'confirm replayed',
  'confirm custody/pool_not_found',
  'confirm custody/bet_not_found',
  'settlePool settled',
  'settlePool replayed',
  'settlePool custody/idempotency_conflict',
  'settlePool custody/unknown_bet',
  'settlePool custody/bet_not_confirmed',
  'settlePool custody/conservation_violated',
  'settlePool custody/pool_closed',
  'refundPool refunded',
  'refundPool replayed',
  'refundPool custody/pool_closed',
  'code referrals/code_already_issued',
  'attribute answered',
  'attribute replayed',
  'attribute unknown_code',
  'attribute self',
  'attribute already_attributed',
  'attribute cycle',
  'chain answered',
  'payout answered',
  'payout replayed',
  'payout users/not_found',
  'payout referrals/unknown_currency',
  'payout referrals/idempotency_conflict',
  'distribute answered',
  'distribute replayed',
  'distribute referrals/idempotency_conflict',
  'withdraw answered',
  'withdraw replayed',
  'withdraw referrals/insufficient_earnings',
  'withdraw referrals/idempotency_conflict',
  'earned answered',
  'balance open',
  'balance settled',
  'figures answered',
];

describe(`a run with faults, by the order of its log (COFFER_LEDGER_SEED=${SEED})`, () => {
  const processes = serviceProcesses();
  const recorder = createRecorder(OPERATOR_TOKEN);
  const nodes = createKilledNodes({ start: startNode, recorder, requestsAtOnce: CLIENTS });
  let database: TestDatabase;
  let pool: Pool;
  let dataFolder: string;
  let run: Run;
  let places: readonly KeyedPlace[];
  let explained: Explained;
  /** The network works normally. */
  let isCalm = false;
  /** The suite has ended, possibly in failure: nobody waits for answers any more. */
  let hasEnded = false;

  const client = delegatingClient((): Client => {
    const [node] = nodes.running();
    if (!node) throw new Error('No node is running.');
    return createClient({ baseUrl: `${node.url}/v1`, operatorToken: OPERATOR_TOKEN });
  });

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    dataFolder = await processes.newDataFolder();
    await nodes.startAll();
    const apps = [await setUpApp(client)];
    // Another app with the same players, whose accounts there are separate.
    apps.push(await setUpApp(client, { scope: apps[0]?.scopeId ?? '' }));
    for (const { appId } of apps) {
      const settings = { poolEscrowEnabled: true };
      requireStatus(await client.post(`/portal/app/${appId}/settings`, { settings }), 200);
    }
    const users = await newUsers(apps);
    places = apps.flatMap(({ test, live }) => [test, live].map(placeOf));
    await play(users);

    run = await runAtRest([...users.test, ...users.live]);
    explained = explain(run);
  });
  after(async () => {
    hasEnded = true;
    recorder.close();
    await database.drop();
  });

  async function startNode(index: number): Promise<ServiceProcess> {
    // One serves in a thread, the other in several, and the log does not care.
    const threads = index === 1 ? SEVERAL_THREADS : {};
    const variables = { DATABASE_URL: database.connectionString, ...RELAY, ...threads };
    return processes.start({ variables, dataFolder, until: 'listening' });
  }

  async function play(users: Readonly<Record<Environment, readonly string[]>>) {
    const usersOf = ({ environment }: KeyedPlace) => users[environment];
    const chance = randomFrom(SEED);
    for (const stage of beginnings({ places, usersOf })) {
      const begin = stage.map((each) =>
        perform({ ...each, isDoubled: false, heldBackMs: undefined, isPatient: true }, chance),
      );
      await Promise.all(begin);
    }
    let areKillsOver = false;
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const random = randomFrom(SEED + 1 + index);
      // Once, or again on a machine where starts take long, so that every kill hits something.
      do await follow(scriptOf({ places, usersOf, steps: STEPS }, random), random);
      while (!areKillsOver && !hasEnded);
    });
    const killing = nodes.killAgainAndAgain().finally(() => {
      areKillsOver = true;
    });
    await Promise.all([...clients, killing]);
    await askAgain();
  }

  async function follow(script: readonly Step[], random: Random): Promise<void> {
    const heldBack: Promise<void>[] = [];
    for (const step of script) {
      const { heldBackMs } = step;
      if (heldBackMs === undefined) await perform(step, random);
      else heldBack.push(delay(heldBackMs).then(() => perform(step, random)));
      // A start needs the processor. Without a pause, all would have been asked several times before the last one.
      if (nodes.isOneStarting()) await delay(PAUSE_MS);
    }
    await Promise.all(heldBack);
  }

  async function perform(step: Step, random: Random): Promise<void> {
    const copies = Array.from({ length: step.isDoubled ? 2 : 1 }, () => sendUntilAnswered(step, random));
    await Promise.all(copies);
  }

  async function sendUntilAnswered({ place, call, isPatient }: Step, random: Random): Promise<void> {
    do {
      const running = nodes.running();
      const node = running[Math.floor(random() * running.length)];
      const received = node && (await nodes.send(node, place, call, faultOf(random)));
      if (received && received.status !== 503) return;
      await delay(5 + 20 * random());
    } while (isPatient && !hasEnded);
  }

  function faultOf(random: Random): Fault | undefined {
    const chance = isCalm ? 1 : random();
    if (chance < 0.1) return { kind: 'cut', afterMs: 12 * random() };
    return chance < 0.15 ? { kind: 'loseReply' } : undefined;
  }

  /** Many requests that were sent, when everything is over, and refunds of pools that were settled. */
  async function askAgain(): Promise<void> {
    const random = randomFrom(SEED);
    isCalm = true;
    const steps = new Map(
      recorder.attempts.map(({ place, call }) => [JSON.stringify([place.name, call]), { place, call }]),
    );
    const again = [...steps.values()].filter(() => random() < 0.4);
    again.push(...recorder.attempts.flatMap(refundIfSettled));
    const asking = Array.from({ length: CLIENTS }, async () => {
      for (let next = again.pop(); next; next = again.pop()) {
        await perform({ ...next, isDoubled: false, heldBackMs: undefined, isPatient: true }, random);
      }
    });
    await Promise.all(asking);
  }

  /** Refused whatever the order of the log was. */
  function refundIfSettled({ place, call, received }: (typeof recorder.attempts)[number]) {
    if (call.kind !== 'single' || call.operation.op !== 'settlePool' || received?.status !== 200) return [];
    const { poolId } = call.operation;
    return [{ place, call: { kind: 'single', operation: { op: 'refundPool', poolId } } as const }];
  }

  async function newUsers(apps: readonly TestApp[]): Promise<Record<Environment, readonly string[]>> {
    const [app] = apps;
    if (!app) throw new Error('There is an app.');
    const of = ({ newUser }: AppPlace) => Promise.all(Array.from({ length: PLAYERS }, newUser));
    return { test: await of(app.test), live: await of(app.live) };
  }

  /** Once the work that killed nodes left half done is finished, or unchanged if that never happens. */
  async function runAtRest(users: readonly string[]): Promise<Run> {
    let events: Run['events'] = [];
    try {
      await eventually('nothing is half done', async () => {
        events = (await client.lines('/portal/log')).map(eventOf);
        return isAtRest(events) || undefined;
      });
    } catch (error) {
      // The explanation says more about it, and the books are checked in the end.
      if (events.length === 0) throw error;
    }
    const currencies = [
      { id: 1, code: 'SOL' },
      { id: 2, code: 'CHIP' },
    ];
    return { events, attempts: recorder.attempts, places, users, currencies };
  }

  it('comes across lost replies, dead services, and every answer of the ledger', () => {
    const unanswered = recorder.attempts.filter(({ received }) => !received);
    const lost = unanswered.filter(({ fault }) => fault !== undefined);
    expect(lost.length, 'replies lost').to.be.greaterThan(0);
    expect(unanswered.length - lost.length, 'requests that a kill has met').to.be.greaterThan(0);
    expect(REACHED.filter((verdict) => !explained.verdicts.has(verdict))).to.deep.equal([]);
  });

  it('is what the model does in that order, and answers what the model answers', () => {
    expect(explained.applied.length).to.be.at.least(500);
    for (const [place, model] of explained.models) expect(model.owed(), place.name).to.deep.equal([]);
  });

  it('keeps its books', () => checkLog(run.events));

  it('shows the players the funds that the model has', async () => {
    for (const place of places) {
      const { accounts = [] } = explained.models.get(place)?.contents() ?? {};
      for (const userId of new Set(accounts.map((account) => account.userId))) {
        const shown = await client.get(`/users/${userId}/accounts`, { key: place.secretKey });
        const items = run.currencies.map(({ id, code }) => {
          const account = accounts.find((each) => each.userId === userId && each.currency === code);
          const { available = 0n, held = 0n } = account ?? {};
          return { currency: code, currencyId: id, available: `${available}`, held: `${held}` };
        });
        expect(shown.json).to.deep.equal({ items });
      }
    }
  });

  if (BROKERS)
    it('has told topics from which every balance follows', async () => {
      const [node] = nodes.running();
      for (const environment of ['test', 'live'] as const) {
        const keys = places.flatMap((place) =>
          place.environment === environment ? [`${place.appId}=${place.secretKey}`] : [],
        );
        const verdict = await balancesByTopics({
          brokers: BROKERS,
          topics: `${TOPIC_PREFIX}.${environment}`,
          baseUrl: `${node?.url}/v1`,
          keys: keys.join(),
        });
        expect(verdict, verdict.stderr).to.include({ exitCode: 0 });
        expect(verdict.stdout).to.match(/^EQUAL: /);
      }
    });

  it('fills the read models with the rows that the model has, and no others', async () => {
    const schema = await liveReadSchema(pool);
    await eventually('the read models have the whole log', async () => {
      const checkpoint = await readCheckpoint(pool, { schema, name: READ_MODELS_CONSUMER });
      return checkpoint?.ordinal === run.events.length || undefined;
    });
    const { rows } = await pool.query<{ name: string }>(
      `select table_name as name from information_schema.tables
        where table_schema = $1 and table_name <> 'consumers' order by table_name`,
      [schema],
    );
    expect(rows.map(({ name }) => name)).to.deep.equal(Object.keys(expectedRows).sort());
    for (const [table, rowsOf] of Object.entries(expectedRows)) {
      const byText = (some: readonly Row[]) => some.map(textOf).sort();
      const stored = byText(await storedRows(pool, schema, table));
      const expected = byText(rowsOf(run, explained));
      expect(without(stored, expected), `${table}: stored and not expected`).to.deep.equal([]);
      expect(without(expected, stored), `${table}: expected and not stored`).to.deep.equal([]);
      expect(stored.length, `${table}: each row once`).to.equal(expected.length);
      if (table !== 'moves') expect(stored.length, `${table}: something to compare`).to.be.greaterThan(0);
    }
  });
});

function isAtRest(events: Run['events']): boolean {
  try {
    checkLog(events);
    return true;
  } catch (error) {
    if (error instanceof AssertionError) return false;
    throw error;
  }
}

function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return some.filter((each) => !known.has(each));
}

/** Columns in a fixed order. */
const textOf = (row: Row): string =>
  JSON.stringify(Object.fromEntries(Object.entries(row).sort(([left], [right]) => (left < right ? -1 : 1))));

const placeOf = ({ appId, environment, secretKey }: AppPlace): KeyedPlace => ({
  name: `${environment}.${appId}`,
  appId,
  environment,
  secretKey,
});
