/**
 * A service that dies between the steps of an open, a settlement and a late rollback. Source: architecture,
 * Processes; contract, Common rules (replays).
 */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type AppPlace,
  type Client,
  createClient,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance, type LogLine } from './testing/books.ts';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

/** A request about to be sent, and its required outcome. */
interface Subject {
  readonly userId: string;
  /** What distinguishes the subject's events from the others. */
  readonly ids: readonly string[];
  readonly path: string;
  readonly body: object;
  /** The answer of a service that never died; only the time is not known in advance. */
  readonly answer: { readonly status: number; readonly body: Readonly<Record<string, unknown>> };
  readonly before: Funds;
  readonly after: Funds;
}

interface Funds {
  readonly available: string;
  readonly held: string;
}

interface Flow {
  readonly prepare: (place: AppPlace) => Promise<Subject>;
  /** In log order. */
  readonly events: readonly string[];
  /** From this event on, a repeat is a replay. */
  readonly decidedBy: string;
  /** The answer's field that holds the time. */
  readonly timeField: 'openedAt' | 'settledAt' | undefined;
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const open: Flow = {
  events: ['FundsHeld', 'SessionOpened'],
  decidedBy: 'FundsHeld',
  timeField: 'openedAt',
  async prepare(place) {
    const userId = await place.newPlayer('100');
    const terms = { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: '60' };
    return {
      userId,
      ids: [userId],
      path: '/ledger/sessions',
      body: { ...terms, transactionUuid: randomUUID() },
      answer: { status: 201, body: { ...terms, balance: '60', status: 'open' } },
      before: { available: '100', held: '0' },
      after: { available: '40', held: '60' },
    };
  },
};

const settle: Flow = {
  events: ['SessionSettled', 'HoldClosed'],
  decidedBy: 'SessionSettled',
  timeField: 'settledAt',
  async prepare(place) {
    const { userId, sessionId } = await place.newSession('100');
    const bet = await place.bet({ sessionId, amount: '30' });
    const betTransactionUuid = textOf(bet, 'transactionUuid');
    await place.win({ sessionId, betTransactionUuid, amount: '10' });
    return {
      userId,
      ids: [userId, sessionId],
      path: '/ledger/settle',
      body: { sessionId, transactionUuid: randomUUID() },
      answer: {
        status: 200,
        body: {
          sessionId,
          userId,
          currency: 'CHIP',
          lockAmount: '100',
          totalBet: '30',
          totalWin: '10',
          payout: '80',
          net: '-20',
          status: 'settled',
        },
      },
      before: { available: '0', held: '100' },
      after: { available: '80', held: '0' },
    };
  },
};

const lateRollback: Flow = {
  events: ['BetRolledBack', 'AccountCredited'],
  decidedBy: 'BetRolledBack',
  timeField: undefined,
  async prepare(place) {
    const { userId, sessionId } = await place.newSession('100');
    const bet = await place.bet({ sessionId, amount: '30' });
    await place.settle({ sessionId });
    const write = {
      sessionId,
      transactionUuid: randomUUID(),
      betTransactionUuid: textOf(bet, 'transactionUuid'),
    };
    return {
      userId,
      ids: [userId, sessionId],
      path: '/ledger/rollback',
      body: write,
      answer: { status: 200, body: { ...write, amount: '30', balance: '70', status: 'rolled_back' } },
      before: { available: '70', held: '0' },
      after: { available: '100', held: '0' },
    };
  },
};

interface Death {
  readonly at: FailPointName;
  readonly flow: Flow;
  /** How many of the flow's events are then in the log. */
  readonly written: number;
}

const DEATHS: readonly Death[] = [
  { at: 'open.beforeHold', flow: open, written: 0 },
  { at: 'open.held', flow: open, written: 1 },
  { at: 'open.opened', flow: open, written: 2 },
  { at: 'settle.beforeSettle', flow: settle, written: 0 },
  { at: 'settle.settled', flow: settle, written: 1 },
  { at: 'settle.closed', flow: settle, written: 2 },
  { at: 'lateRollback.rolledBack', flow: lateRollback, written: 1 },
  { at: 'lateRollback.credited', flow: lateRollback, written: 2 },
];

describe('a service that dies in the middle of a request', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let dataFolder: string;
  let place: AppPlace;
  /** The node that the specs currently call. */
  let node: Client;
  const client = delegatingClient(() => node);

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    dataFolder = await processes.newDataFolder();
    const service = await startNode(['api']);
    place = (await setUpApp(client)).test;
    await service.terminate();
  });
  after(() => database.drop());

  const variables = () => ({ DATABASE_URL: database.connectionString, COFFER_REACTION_GRACE_MS: '0' });
  const clientOf = ({ url }: ServiceProcess) =>
    createClient({ baseUrl: `${url}/v1`, operatorToken: OPERATOR_TOKEN });

  async function startNode(roles: readonly ('api' | 'projector' | 'process-manager')[]) {
    const until = roles.length === 1 ? 'listening' : 'ready';
    const service = await processes.start({ roles, variables: variables(), dataFolder, until });
    node = clientOf(service);
    return service;
  }

  /** A service without the process that finishes things, which will die at the point. */
  const startDoomed = (at: FailPointName) =>
    processes.start({
      roles: ['api'],
      variables: { ...variables(), COFFER_FAIL_POINT: at },
      dataFolder,
      until: 'listening',
    });

  const send = ({ path, body }: Subject, to: Client = client): Promise<Answer> =>
    to.post(path, body, { key: place.secretKey });

  async function dieAt(doomed: ServiceProcess, subject: Subject): Promise<void> {
    const answer = await send(subject, clientOf(doomed)).catch((error: unknown) => error);
    expect(answer, 'no answer').to.be.instanceOf(TypeError);
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
  }

  /** The events written by the flow itself, without the credit before it. */
  const eventsOf = async ({ ids }: Subject, { events }: Flow): Promise<readonly LogLine[]> => {
    const lines = await client.lines('/portal/log');
    return lines.filter((line) => {
      const text = JSON.stringify(line);
      return (
        events.includes(String(line.type)) &&
        ids.some((id) => text.includes(id)) &&
        !text.includes('"reason":"adjustment"')
      );
    });
  };
  const typesOf = (lines: readonly LogLine[]) => lines.map(({ type }) => type);

  /** Equal to the answer of a service that never died, with the time from the log. */
  function expectOriginal(answer: Answer, subject: Subject, flow: Flow, left: readonly LogLine[]): void {
    const { sessionId } = answer.json;
    const expected = { sessionId, ...subject.answer.body };
    if (flow.timeField === undefined) {
      expect(answer.json).to.deep.equal(expected);
    } else {
      const { [flow.timeField]: time, ...rest } = answer.json;
      expect(rest).to.deep.equal(expected);
      expect(time).to.match(TIME);
      if (left[0]) expect(JSON.stringify(left[0].data)).to.include(`"${flow.timeField}":"${time}"`);
    }
    expect(answer.status).to.equal(subject.answer.status);
  }

  const subjects = new Map<Death, Subject>();
  const subjectOf = (death: Death): Subject => {
    const subject = subjects.get(death);
    if (!subject) throw new Error(`Nothing was prepared for ${death.at}.`);
    return subject;
  };
  const prepareAll = async () => {
    for (const death of DEATHS) subjects.set(death, await death.flow.prepare(place));
  };
  const dieEverywhere = () =>
    allOf(DEATHS, async (death) => dieAt(await startDoomed(death.at), subjectOf(death)));

  describe('and the caller repeats it', () => {
    before(async () => {
      const service = await startNode(['api']);
      await prepareAll();
      await dieEverywhere();
      // A node that has seen none of it.
      await service.terminate();
      await startNode(['api']);
    });

    for (const death of DEATHS) {
      const { at, flow, written } = death;
      it(`at ${at}: the first repeat gets the original answer, and all is there once`, async () => {
        const subject = subjectOf(death);
        const left = await eventsOf(subject, flow);
        expect(typesOf(left)).to.deep.equal(flow.events.slice(0, written));

        const repeat = await send(subject);
        expectOriginal(repeat, subject, flow, left);
        expect(repeat.replayed).to.equal(typesOf(left).includes(flow.decidedBy));
        expect(await place.funds(subject.userId)).to.deep.equal(subject.after);
        await expectRepeated(repeat, subject, flow);
      });
    }
  });

  describe('and nobody repeats it', () => {
    before(async () => {
      await prepareAll();
      await dieEverywhere();
      await startNode([]);
    });

    for (const death of DEATHS) {
      const { at, flow, written } = death;
      const outcome = written === 0 ? 'nothing has happened' : 'the process finishes it, once';
      it(`at ${at}: ${outcome}`, async () => {
        const subject = subjectOf(death);
        const expected = written === 0 ? subject.before : subject.after;
        await eventually(`${at} has come to its end`, async () => {
          const { available, held } = await place.funds(subject.userId);
          return (available === expected.available && held === expected.held) || undefined;
        });
        const events = await eventually(`all of ${at} is in the log`, async () => {
          const found = await eventsOf(subject, flow);
          return found.length === 0 || found.length >= flow.events.length ? found : undefined;
        });
        expect(typesOf(events)).to.deep.equal(written === 0 ? [] : flow.events);
      });
    }

    it('and who asks much later still gets the original answer', async () => {
      for (const death of DEATHS) {
        const { flow } = death;
        const subject = subjectOf(death);
        const left = await eventsOf(subject, flow);
        const answer = await send(subject);
        expectOriginal(answer, subject, flow, left);
        expect(answer.replayed, death.at).to.equal(death.written > 0);
        await expectRepeated(answer, subject, flow);
      }
    });
  });

  describe('and the caller repeats it while the process finishes it', () => {
    const doomed = new Map<Death, ServiceProcess>();

    before(async () => {
      await prepareAll();
      // The node from the previous tests is still running, and its process does not wait.
      await allOf(DEATHS, async (death) => {
        doomed.set(death, await startDoomed(death.at));
      });
    });

    for (const death of DEATHS) {
      const { at, flow } = death;
      it(`at ${at}: all callers get the original answer, and all is there once`, async () => {
        const subject = subjectOf(death);
        const service = doomed.get(death);
        if (!service) throw new Error(`No service dies ${at}.`);
        await dieAt(service, subject);
        const [first, ...others] = await Promise.all([send(subject), send(subject), send(subject)]);
        expectOriginal(first, subject, flow, await eventsOf(subject, flow));
        for (const other of others) expect(other).to.include({ status: first.status, text: first.text });
        expect(await place.funds(subject.userId)).to.deep.equal(subject.after);
        await expectRepeated(first, subject, flow);
      });
    }
  });

  describe('or does not die, while the process waits for nothing', () => {
    it('does each step once, whoever comes first', async () => {
      const flows = Array.from({ length: 24 }, (_, index) => [open, settle, lateRollback][index % 3] ?? open);
      const ready = await Promise.all(
        flows.map(async (flow) => ({ flow, subject: await flow.prepare(place) })),
      );
      await Promise.all(
        ready.map(async ({ flow, subject }) => {
          const answer = await send(subject);
          expectOriginal(answer, subject, flow, await eventsOf(subject, flow));
          expect(await place.funds(subject.userId)).to.deep.equal(subject.after);
          await expectRepeated(answer, subject, flow);
        }),
      );
    });
  });

  describe('in the end', () => {
    it('the books balance', () => expectBooksToBalance(client));
  });

  async function expectRepeated(answer: Answer, subject: Subject, flow: Flow): Promise<void> {
    const repeat = await send(subject);
    expect(repeat).to.include({ status: answer.status, text: answer.text, replayed: true });
    expect(typesOf(await eventsOf(subject, flow))).to.deep.equal(flow.events);
  }
});

/** The machine has few cores, and each of these is a whole service. */
async function allOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item; item = rest.shift()) await work(item);
  };
  await Promise.all([worker(), worker(), worker()]);
}
