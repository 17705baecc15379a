/**
 * The ledger while its store is in trouble: what is answered, and that a repeat always converges.
 * Source: contract, Common rules (unknown outcome, overload).
 */
import {
  type AppendRequest,
  type EventStore,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
} from '@coffer/event-store';
import { type Answer, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { eventually, itLogTable, type ReachableDatabase, reachableDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { type Ledger, useLedger } from './testing/useLedger.ts';

type Append = EventStore['append'];

/** A store whose appends a spec may take over. */
function troubledStore() {
  let fault: ((request: AppendRequest, append: Append) => ReturnType<Append>) | undefined;
  return {
    wrapStore: (store: EventStore): EventStore => ({
      ...store,
      append: (request) => (fault ? fault(request, store.append) : store.append(request)),
    }),
    /** Until `heal`, for appends to streams of the category, or to all streams without one. */
    failWith: (next: NonNullable<typeof fault>, category = '') => {
      fault = (request, append) =>
        request.stream.startsWith(category) ? next(request, append) : append(request);
    },
    heal: () => {
      fault = undefined;
    },
  };
}

const UNREACHABLE = new StoreUnreachableError('Nobody answers.');
const OVERLOADED = new StoreOverloadedError('The queue is full.');

/** The whole log, on which every later request builds. */
const logOf = async ({ client }: Ledger) =>
  (await client.lines('/portal/log')).map(({ stream, type, data }) => ({ stream, type, data }));

const isAskedToRetry = (answer: Answer) => /^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '');

describe('The ledger in trouble', () => {
  const store = troubledStore();
  const ledger = useLedger({
    wrapStore: store.wrapStore,
    config: { requestTimeoutMs: 100, reactionGraceMs: 0 },
  });
  afterEach(() => store.heal());

  /** Every write, on a session where it is the next thing to do, with the streams that it appends to. */
  const writes: readonly {
    readonly name: 'openSession' | 'bet' | 'win' | 'rollback' | 'lateRollback' | 'settle';
    readonly streams: readonly string[];
    readonly fields: Fields;
  }[] = [
    { name: 'openSession', streams: ['account', 'playSession'], fields: { lockAmount: '5' } },
    { name: 'bet', streams: ['playSession'], fields: { amount: '5' } },
    { name: 'win', streams: ['playSession'], fields: { betTransactionUuid: 'bet-1', amount: '5' } },
    { name: 'rollback', streams: ['playSession'], fields: { betTransactionUuid: 'bet-1' } },
    { name: 'lateRollback', streams: ['playSession', 'account'], fields: { betTransactionUuid: 'bet-1' } },
    { name: 'settle', streams: ['playSession', 'account'], fields: {} },
  ];

  async function readyFor({ name, fields }: (typeof writes)[number]): Promise<() => Promise<Answer>> {
    const { test } = ledger;
    const { sessionId, userId } = await test.newSession('100');
    await test.credit(userId, '50');
    requireStatus(await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' }), 200);
    if (name === 'lateRollback') requireStatus(await test.settle({ sessionId }), 200);
    const send = test[name === 'lateRollback' ? 'rollback' : name];
    const content =
      name === 'openSession'
        ? { userId, ...fields, transactionUuid: `open-of-${userId}` }
        : { sessionId, transactionUuid: 'write-1', ...fields };
    return () => send(content);
  }

  /** Repeats until it is answered; then once more, which must get the same answer. */
  async function expectConvergence(call: () => Promise<Answer>): Promise<Answer> {
    const answer = await call();
    expect(answer.status, answer.text).to.be.within(200, 201);
    const again = await call();
    expect([again.status, again.text, again.replayed]).to.deep.equal([answer.status, answer.text, true]);
    return answer;
  }

  /** What a write appends if nothing goes wrong, by the types of its events. */
  async function expectedNews(write: (typeof writes)[number]): Promise<readonly string[]> {
    const call = await readyFor(write);
    await ledger.news();
    await call();
    return ledger.news();
  }

  for (const write of writes) {
    describe(write.name, () => {
      for (const category of write.streams) {
        it(`whose append to the ${category} was written without an answer converges when repeated`, async () => {
          const expected = await expectedNews(write);
          const call = await readyFor(write);
          await ledger.news();
          store.failWith(async (request, append) => {
            await append(request);
            throw new OutcomeUnknownError('The answer of the store was lost.');
          }, category);

          const unknown = await call();
          expect(verdict(unknown)).to.equal('503 service/outcome_unknown');
          expect(isAskedToRetry(unknown)).to.equal(true);
          store.heal();
          await expectConvergence(call);
          expect(await ledger.news()).to.deep.equal(expected);
        });

        it(`whose append to the ${category} may have been lost converges when repeated`, async () => {
          const expected = await expectedNews(write);
          const call = await readyFor(write);
          await ledger.news();
          store.failWith(async () => {
            throw new OutcomeUnknownError('The request to the store was lost.');
          }, category);

          expect(verdict(await call())).to.equal('503 service/outcome_unknown');
          store.heal();
          await expectConvergence(call);
          expect(await ledger.news()).to.deep.equal(expected);
        });
      }

      const [, second] = write.streams;
      for (const failure of second === undefined ? [] : [UNREACHABLE, OVERLOADED]) {
        it(`whose second append meets a ${failure.name} never claims that nothing was done`, async () => {
          const expected = await expectedNews(write);
          const call = await readyFor(write);
          await ledger.news();
          store.failWith(() => Promise.reject(failure), second);
          const unknown = await call();
          expect(verdict(unknown)).to.equal('503 service/outcome_unknown');
          expect(isAskedToRetry(unknown)).to.equal(true);
          store.heal();
          await expectConvergence(call);
          expect(await ledger.news()).to.deep.equal(expected);
        });
      }

      for (const [refusal, failure] of [
        ['503 service/unavailable', UNREACHABLE],
        ['503 service/overloaded', OVERLOADED],
      ] as const) {
        it(`is answered ${refusal} with nothing written while the store takes nothing`, async () => {
          const call = await readyFor(write);
          const before = await logOf(ledger);
          store.failWith(() => Promise.reject(failure));
          const refused = await call();
          expect(verdict(refused)).to.equal(refusal);
          expect(isAskedToRetry(refused)).to.equal(true);
          expect(await logOf(ledger)).to.deep.equal(before);
          store.heal();
          await expectConvergence(call);
        });
      }
    });
  }

  it('answers a batch with an unknown outcome as such, and its repeat converges', async () => {
    const { test, news } = ledger;
    const { sessionId } = await test.newSession('100');
    await news();
    const bets = ['bet-1', 'bet-2'].map((transactionUuid) => ({ op: 'bet', transactionUuid, amount: '10' }));
    store.failWith(async (request, append) => {
      await append(request);
      throw new OutcomeUnknownError('The answer of the store was lost.');
    });
    expect(verdict(await test.batch(sessionId, bets))).to.equal('503 service/outcome_unknown');
    store.heal();
    const answer = requireStatus(await test.batch(sessionId, bets), 200);
    expect(answer.json).to.have.nested.property('results[1].body.balance', '80');
    expect(await news()).to.deep.equal(['playSession BetPlaced', 'playSession BetPlaced']);
  });
});

describe('The ledger under more than it can take', () => {
  const store = troubledStore();
  const CAPACITY = 5;
  const ledger = useLedger({
    wrapStore: store.wrapStore,
    config: { maxConcurrentRequests: CAPACITY },
  });

  it('refuses the excess at once, completes everything it accepted, and carries on', async () => {
    const { test, news } = ledger;
    const sessions: { readonly sessionId: string }[] = [];
    for (let count = 0; count <= CAPACITY; count++) sessions.push(await test.newSession('10'));
    await news();
    const held: (() => void)[] = [];
    store.failWith(async (request, append) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return append(request);
    });

    const bets = sessions.map(({ sessionId }) => ({ sessionId, transactionUuid: 'bet-1', amount: '1' }));
    const taken = bets.slice(0, CAPACITY).map((bet) => test.bet(bet));
    await eventually('as many as fit are being served', () => (held.length === CAPACITY ? held : undefined));
    const [last] = bets.slice(CAPACITY);
    const refused = await Promise.all(Array.from({ length: 20 }, () => test.bet({ ...last })));
    expect(refused.map(verdict)).to.deep.equal(Array(20).fill('503 service/overloaded'));
    expect(refused.every(isAskedToRetry)).to.equal(true);

    store.heal();
    for (const release of held) release();
    expect((await Promise.all(taken)).map(verdict)).to.deep.equal(Array(CAPACITY).fill('200'));
    expect(await news()).to.deep.equal(Array(CAPACITY).fill('playSession BetPlaced'));
    const later = await test.bet({ ...last });
    expect([later.status, later.replayed]).to.deep.equal([200, false]);
  });
});

describe('The ledger without its database', () => {
  const ledger = useLedger({ config: { requestTimeoutMs: 500 } });
  let database: ReachableDatabase;
  before(() => {
    database = reachableDatabase(ledger.world.databaseUrl);
  });
  after(() => database.close());

  itLogTable('bets go on', 'says that it is unavailable, stays up, and recovers by itself', async () => {
    const { test, client, world } = ledger;
    const { sessionId, userId } = await test.newSession('100');
    const bet = { sessionId, transactionUuid: 'bet-1', amount: '10' };
    await database.setReachable(false);
    try {
      const answers = await Promise.all([
        test.bet(bet),
        test.settle({ sessionId }),
        test.openSession({ userId, lockAmount: '0', transactionUuid: 'open-away' }),
        test.balance(sessionId),
        test.get('/ledger/sessions'),
        test.get(`/users/${userId}/accounts`),
        client.get('/portal/log'),
      ]);
      for (const answer of answers) {
        expect(verdict(answer)).to.be.oneOf(['503 service/unavailable', '503 service/outcome_unknown']);
        expect(isAskedToRetry(answer)).to.equal(true);
      }
      expect((await fetch(`${world.url}/healthz`)).status).to.equal(200);
      expect((await fetch(`${world.url}/readyz`)).status).to.equal(503);
    } finally {
      await database.setReachable(true);
    }
    await eventually('the service is ready again', async () =>
      (await fetch(`${world.url}/readyz`)).ok ? true : undefined,
    );
    expect((await test.bet({ ...bet, transactionUuid: 'bet-2' })).status).to.be.oneOf([200, 409]);
    requireStatus(await test.settle({ sessionId }), 200);
    const events = await client.lines(`/portal/streams/playSession-test.${test.appId}.${sessionId}`);
    expect(events.filter(({ type }) => type === 'SessionSettled').length).to.equal(1);
    expect((await test.funds(userId)).held).to.equal('0');
  });
});
