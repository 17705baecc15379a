/**
 * Requests, repeats, ends of moves and the process, all at once on two nodes whose store is slow, unavailable or loses
 * replies, and whose requests die between their steps. Afterwards nothing may be half done: each ref has one move, and
 * the accounts show the outcome of each move.
 */
import { answerOf, createTroubledStore } from '@coffer/event-store/testing';
import { type MoveEvent, moveEvents, treasuryMoveBody } from '@coffer/moves';
import { type Random, randomFrom } from '@coffer/testing';
import { walletStreamName } from '@coffer/wallets';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Kind } from './testing/treasuryCaller.ts';
import { createTreasuryWorld, type TreasuryWorld } from './testing/treasuryNodes.ts';

const RUNS = 100;
const FUNDS = 100_000_000n;
const REFS = ['a', 'b', 'c'];
const AMOUNTS = [20_000_000n, 60_000_000n];

interface Asked {
  readonly kind: Kind;
  readonly player: 0 | 1;
  readonly ref: string;
  readonly amount: bigint;
}
type Step =
  | ({ readonly op: 'ask' } & Asked)
  | { readonly op: 'confirm' | 'fail' | 'finish'; readonly ref: string }
  | { readonly op: 'export'; readonly player: 0 | 1 };

const asked = fc.record({
  op: fc.constant('ask' as const),
  kind: fc.constantFrom<Kind>('deposit', 'withdraw'),
  player: fc.constantFrom<0 | 1>(0, 1),
  ref: fc.constantFrom(...REFS),
  amount: fc.constantFrom(...AMOUNTS),
});
const other = fc.record({
  op: fc.constantFrom('confirm' as const, 'fail' as const, 'finish' as const),
  ref: fc.constantFrom(...REFS),
});
const exported = fc.record({ op: fc.constant('export' as const), player: fc.constantFrom<0 | 1>(0, 1) });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { arbitrary: asked, weight: 12 },
    { arbitrary: other, weight: 3 },
    { arbitrary: exported, weight: 1 },
  ),
  { minLength: 4, maxLength: 24 },
);

describe('the treasury: two nodes at once', () => {
  it('moves once per ref and books what has moved, whatever is lost, repeated or killed', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(steps, fc.integer(), async (scenario, seed) => {
        const run = await startRun(randomFrom(seed));
        await run.play(scenario);
        await run.requireNothingHalfDone();
        for (const answer of run.answers) seen.add(answer);
      }),
      { numRuns: RUNS },
    );
    // A run that covers less than this would prove little.
    expect([...seen]).to.include.members([
      'deposit accepted',
      'withdraw accepted',
      'withdraw treasury/insufficient_funds',
      'deposit treasury/idempotency_conflict',
      'withdraw treasury/idempotency_conflict',
      'withdraw no answer',
      'export accepted',
      'export wallets/export_not_allowed',
      'deposit wallets/no_wallet',
    ]);
  });
});

async function startRun(random: Random) {
  const trouble = createTroubledStore(random);
  const world = await createTreasuryWorld({ store: trouble.store, mayDie: () => trouble.happens(0.15) });
  const players = [await world.newPlayer(), await world.newPlayer()] as const;
  for (const [index, userId] of players.entries()) {
    await ask(world, userId, { kind: 'deposit', player: 0, ref: `funds-${index}`, amount: FUNDS }, 0, 30_000);
    await world.confirm(`funds-${index}`);
  }
  await world.finish();
  const answers: string[] = [];
  const bodies = new Map<string, string>();

  async function take(step: Step): Promise<void> {
    const node = random() < 0.5 ? 0 : 1;
    switch (step.op) {
      case 'ask': {
        const outcome = await answerOf(
          ask(world, players[step.player], step, node, trouble.isCalm ? 30_000 : 0),
        );
        answers.push(`${step.kind} ${outcome.code}`);
        if (outcome.body === undefined) return;
        // The same request is answered the same, by either node and at any time.
        const key = `${step.kind} ${step.player} ${step.ref} ${step.amount}`;
        expect(outcome.body).to.equal(bodies.get(key) ?? outcome.body);
        bodies.set(key, outcome.body);
        return;
      }
      case 'finish':
        await answerOf(world.finish(node));
        return;
      case 'export': {
        const { code } = await answerOf(world.exportKey(players[step.player], node));
        answers.push(`export ${code}`);
        return;
      }
      default: {
        const { op, ref } = step;
        // The driver ends a move once; a move that does not exist or has ended is ignored.
        await trouble.calmly(async () => {
          if (await isUnderWay(world, ref)) await world[op](ref);
        });
      }
    }
  }

  return {
    answers,
    play: (scenario: readonly Step[]) =>
      trouble.inTrouble(scenario, async (together) => {
        // Keeping two ends of one move apart would be the driver's job.
        const asks = together.filter(({ op }) => op === 'ask' || op === 'finish' || op === 'export');
        await Promise.all(asks.map(take));
        for (const step of together.filter((one) => !asks.includes(one))) await take(step);
      }),
    async requireNothingHalfDone(): Promise<void> {
      // The first round may request moves; a later one does what they owe.
      await world.finish();
      await world.finish();
      expect(await world.finish(), 'owed for ever').to.equal(0);
      await requireWalletsRight(world, players);
      const moves = await movesOf(world);
      for (const userId of players) {
        const own = moves.filter((move) => move.userId === userId);
        const sum = (operation: string, end: string | undefined) =>
          own
            .filter((move) => move.operation === operation && move.end === end)
            .reduce((total, { amount }) => total + amount, 0n);
        const deposited = sum('deposit', 'MoveConfirmed');
        const withdrawn = sum('cashOut', 'MoveConfirmed');
        const held = sum('cashOut', undefined);
        const figures = await world.nodes[0].accounts.external(world.accountOf(userId), world.context());
        expect(figures).to.deep.equal({
          deposited,
          withdrawn,
          held,
          available: deposited - withdrawn - held,
        });
      }
      // Each accepted answer describes the move of its ref.
      for (const [key, body] of bodies) {
        const [, , ref = ''] = key.split(' ');
        const found = moves.find((move) => move.key === ref);
        expect(JSON.parse(body)).to.include({ userId: found?.userId, amount: `${found?.amount}` });
      }
      // And every repeat gets that answer.
      for (const [key, body] of bodies) {
        const [kind, player, ref = '', amount = ''] = key.split(' ');
        const again = { kind: kind as Kind, player: 0 as const, ref, amount: BigInt(amount) };
        const userId = players[player === '0' ? 0 : 1];
        expect((await answerOf(ask(world, userId, again, 1, 30_000))).body).to.equal(body);
      }
    },
  };
}

async function ask(
  world: TreasuryWorld,
  userId: string,
  { kind, ref, amount }: Asked,
  node: 0 | 1,
  withinMs: number,
): Promise<string> {
  const context = { ...world.context(), deadlineMs: performance.now() + withinMs };
  const { treasury } = world.nodes[node];
  const { answer } = await treasury[kind](world.place, { userId, currency: 1, amount, ref }, context);
  return JSON.stringify(treasuryMoveBody(answer));
}

/**
 * All moves in the log, each with the type of its last event if it has ended. Two moves of one ref would be two
 * streams.
 */
async function movesOf(world: TreasuryWorld) {
  const decoded = (await world.events())
    .filter(({ stream }) => stream.startsWith('move-'))
    .map((stored) => ({ stream: stored.stream, event: moveEvents.decode(stored) }));
  const ends = new Map(
    decoded
      .filter(({ event }) => event.type === 'MoveConfirmed' || event.type === 'MoveFailed')
      .map(({ stream, event }) => [stream, event.type]),
  );
  const requested = decoded.filter(
    (one): one is { stream: string; event: Extract<MoveEvent, { type: 'MoveRequested' }> } =>
      one.event.type === 'MoveRequested',
  );
  expect(new Set(requested.map(({ event }) => event.data.key)).size, 'one move a ref').to.equal(
    requested.length,
  );
  return requested.map(({ stream, event }) => ({ ...event.data, end: ends.get(stream) }));
}

/** No key was given away while a move of its wallet was in flight, and whatever a wallet has admitted is in flight. */
async function requireWalletsRight(world: TreasuryWorld, players: readonly string[]): Promise<void> {
  const log = await world.events();
  for (const userId of players) {
    const wallet = world.walletPlaceOf(userId);
    const onTheWay = new Set<string>();
    for (const stored of log) {
      if (stored.stream.startsWith('move-')) {
        const event = moveEvents.decode(stored);
        const isOfWallet = 'admittedBy' in event.data && event.data.admittedBy?.walletId === wallet.walletId;
        if (isOfWallet && event.type === 'MoveRequested') onTheWay.add(stored.stream);
        else if (isOfWallet) onTheWay.delete(stored.stream);
      } else if (stored.type === 'WalletExported' && stored.stream === walletStreamName(wallet)) {
        expect([...onTheWay], 'on its way when the key was given away').to.deep.equal([]);
      }
    }
    const state = await world.nodes[0].wallets.stateOf(wallet, world.context());
    const admitted = [...(state?.admitted.values() ?? [])].map(({ moveId }) => moveId);
    expect(admitted.toSorted()).to.deep.equal([...onTheWay].map(moveIdOf).toSorted());
  }
}

const moveIdOf = (stream: string): string => stream.slice(stream.lastIndexOf('.') + 1);

async function isUnderWay(world: TreasuryWorld, ref: string): Promise<boolean> {
  return (await movesOf(world)).some(({ key, end }) => key === ref && end === undefined);
}
