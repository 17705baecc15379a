/** A session answers the same whether its state was cached all along, or came back from wherever. */
import { createCommandHandler, type Settled } from '@coffer/event-store';
import { createMemoryEventStore, createMemorySnapshotStore } from '@coffer/event-store/memory';
import { Rejection } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { type PlaySessionAnswer, type PlaySessionCommand, playSession } from './domain/playSession.ts';
import { SEED } from './testing/seed.ts';

const openOf = (number: number): PlaySessionCommand => ({
  type: 'OpenSession',
  sessionId: `session-${number}`,
  userId: 'user',
  gameCode: 'game',
  currency: 'GEM',
  currencyId: 1,
  lockAmount: 1_000n,
  openedAt: '2026-01-01T00:00:00.000Z',
});

const uuid = fc.nat(60).map((number) => `write-${number}`);
/** A write is on one that nearly always is another. */
const onBet = fc.record({ transactionUuid: uuid, betTransactionUuid: uuid.map((name) => `${name}-bet`) });
const amount = fc.bigInt(0n, 30n);
const roundId = fc.constantFrom(undefined, 'round-1', 'round-2');
const command: fc.Arbitrary<PlaySessionCommand> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('PlaceBet' as const),
      transactionUuid: uuid.map((name) => `${name}-bet`),
      amount,
      roundId,
    }),
  },
  { weight: 3, arbitrary: fc.tuple(onBet, amount, roundId).map(winOf) },
  { weight: 2, arbitrary: onBet.map((rest) => ({ type: 'RollBackBet' as const, ...rest })) },
  { weight: 1, arbitrary: fc.constant({ type: 'SettleSession' as const, at: '2026-01-01T01:00:00.000Z' }) },
);
function winOf([on, won, round]: [
  { transactionUuid: string; betTransactionUuid: string },
  bigint,
  string | undefined,
]): PlaySessionCommand {
  return { type: 'CreditWin', ...on, amount: won, roundId: round };
}

/** Some commands at once, for one session or for several; or the process ends, with or without time to save. */
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      sessions: fc.uniqueArray(fc.nat(3), { minLength: 1 }),
      commands: fc.array(command, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom('stopped' as const, 'killed' as const) },
);

describe('ledger: sessions whose states leave the cache', () => {
  it('answer, write and refuse the same as if all states were always cached', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 60 }),
        fc.integer({ min: 1_000, max: 30_000 }),
        async (steps, cacheBytes) => {
          const roomy = createWorld(undefined);
          const narrow = createWorld(cacheBytes);
          for (const session of [0, 1, 2, 3]) {
            await Promise.all([roomy, narrow].map(({ ask }) => ask(session, [openOf(session)])));
          }
          for (const [index, one] of steps.entries()) {
            if (typeof one === 'string') await narrow.end(one);
            else {
              const [expected, answers] = await Promise.all(
                [roomy, narrow].map(({ ask }) =>
                  Promise.all(one.sessions.map((session) => ask(session, one.commands))),
                ),
              );
              expect(answers, `step ${index}`).to.deep.equal(expected);
            }
          }
          expect(await narrow.stored()).to.deep.equal(await roomy.stored());
        },
      ),
      { numRuns: 60, seed: SEED },
    ));

  it('come back in every way', async () => {
    const seen = new Set<string>();
    const world = createWorld(16_000, ({ source }) => seen.add(source));
    for (let round = 0; round < 40; round++) {
      const bets = [0, 1, 2].map((one) => ({
        type: 'PlaceBet' as const,
        transactionUuid: `${round}-${one}`,
        amount: 1n,
      }));
      const win: PlaySessionCommand = {
        type: 'CreditWin',
        transactionUuid: `${round}-win`,
        betTransactionUuid: '1-1',
        amount: 1n,
      };
      const commands = round % 5 === 4 ? [...bets, win] : bets;
      await Promise.all(
        [0, 1, 2, 3].map((session) => world.ask(session, round === 0 ? [openOf(session)] : commands)),
      );
    }
    expect([...seen].sort()).to.deep.equal(['fold', 'queue', 'snapshot']);
    expect(world.stats().outlineHits).to.be.above(0);
  });
});

const streamOf = (session: number) => `playSession-test.app_1.${session}`;

type OnReturn = Parameters<typeof createCommandHandler>[0]['onReturn'];

/** Without a number of bytes nothing leaves the cache. */
function createWorld(cacheBytes: number | undefined, onReturn: OnReturn = () => undefined) {
  const store = createMemoryEventStore();
  const snapshots = createMemorySnapshotStore();
  const start = () =>
    createCommandHandler({
      store,
      onReturn,
      ...(cacheBytes !== undefined && { cacheBytes, snapshots }),
      onSnapshotError: (error) => expect.fail(String(error)),
    });
  let handler = start();
  return {
    async ask(session: number, commands: readonly PlaySessionCommand[]): Promise<string> {
      const settled = await handler.executeAll(playSession, streamOf(session), commands, {
        metadata: { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-01T00:00:00.000Z' },
        deadlineMs: patiently(),
      });
      return JSON.stringify(settled.map(bodyOf), (_, value) =>
        typeof value === 'bigint' ? `${value}` : value,
      );
    },
    stats: () => handler.stats(),
    async end(how: 'stopped' | 'killed'): Promise<void> {
      if (how === 'stopped') await handler.saveStates(10_000);
      handler = start();
    },
    async stored(): Promise<readonly string[]> {
      const events: string[] = [];
      for (const session of [0, 1, 2, 3]) {
        for await (const page of store.readStream(streamOf(session))) {
          events.push(...page.map(({ stream, type, data }) => `${stream} ${type} ${data}`));
        }
      }
      return events;
    },
  };
}

function bodyOf(settled: Settled<PlaySessionAnswer>): unknown {
  if (settled.status === 'decided') return { answer: settled.answer, replayed: settled.replayed };
  if (!(settled.reason instanceof Rejection)) throw settled.reason;
  return { code: settled.reason.code, details: settled.reason.details };
}
