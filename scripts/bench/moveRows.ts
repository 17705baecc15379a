/** Measures deposits from request to balance, and bare transfers on the same chain. */

import { setTimeout as delay } from 'node:timers/promises';
import { accountStreamOf, depositEntryId } from '@coffer/accounts';
import { moveStreamName, treasuryMovePlace } from '@coffer/moves';
import pg from 'pg';
import { type BareTransferFigures, prepareBareTransfers } from './bareTransfers.ts';
import type { Run } from './children.ts';
import { embeddedChainClient } from './embeddedChain.ts';
import { inParallel } from './inParallel.ts';
import { type BenchPlan, DEPOSITORS, WARM_UP_MOVES } from './plan.ts';
import { post } from './players.ts';
import type { ServiceUnderTest } from './service.ts';
import { type SignedInUser, signInPlayers } from './signIns.ts';
import { comeToRest, processFigures } from './watch.ts';

const SOL = 1;
const FUNDED_LAMPORTS = 100_000_000_000;
/** More than an account must hold, so that even the first one arrives. */
const DEPOSIT_LAMPORTS = 1_000_000;
const STATUS_PAUSE_MS = 100;

/** One deposit, in milliseconds of this machine's clock. */
export interface MoveTimes {
  readonly requested: number;
  readonly signed: number;
  readonly submitted: number;
  /** When its block became final. */
  readonly final: number;
  readonly confirmed: number;
  readonly credited: number;
}

export interface MoveRound {
  readonly bare: BareTransferFigures;
  /** Until the status of the last one was `confirmed`. */
  readonly confirmedPerSecond: number;
  /** From the first answer to a request to the last. */
  readonly requestedPerSecond: number;
  /** Of the service alone, without its database and the chain. */
  readonly cpuMsPerMove: number;
  readonly times: readonly MoveTimes[];
}

export interface MoveFigures {
  readonly movesPerRound: number;
  readonly rounds: readonly MoveRound[];
}

export interface MoveBench {
  /** One turn of deposits alone, and when it ran, in microseconds of the machine's monotonic clock. */
  readonly deposits: (count: number) => Promise<Deposits>;
  readonly rest: () => Promise<void>;
}

interface Deposits extends Omit<MoveRound, 'bare'> {
  readonly fromUs: number;
  readonly toUs: number;
}

export async function measureMoves(
  run: Run,
  service: ServiceUnderTest,
  { moveRounds, movesPerRound }: BenchPlan,
): Promise<MoveFigures> {
  const bench = await prepareMoves(run, service);
  const bareTransfers = await prepareBareTransfers(embeddedChainClient(service.chainUrl, run.signal));
  await bareTransfers.measure(WARM_UP_MOVES, BigInt(DEPOSIT_LAMPORTS));
  const rounds: MoveRound[] = [];
  for (let round = 0; round < moveRounds; round++) {
    await bench.rest();
    const bare = await bareTransfers.measure(movesPerRound, BigInt(DEPOSIT_LAMPORTS));
    run.progress(`bare transfers: ${Math.round(bare.sentPerSecond)} sent a second`);
    await bench.rest();
    const { fromUs, toUs, ...deposits } = await bench.deposits(movesPerRound);
    run.progress(
      `deposits: ${Math.round(deposits.confirmedPerSecond)} moves/s in ${(toUs - fromUs) / 1_000} ms`,
    );
    rounds.push({ bare, ...deposits });
  }
  return { movesPerRound, rounds };
}

export async function prepareMoves(run: Run, service: ServiceUnderTest): Promise<MoveBench> {
  const { signal } = run;
  const chain = embeddedChainClient(service.chainUrl, signal);
  run.progress(`signing in ${DEPOSITORS} users and funding their wallets`);
  const { users } = await signInPlayers({ service, signal }, DEPOSITORS);
  await chain.fund(
    users.map(({ address }) => address),
    FUNDED_LAMPORTS,
  );
  let made = 0;

  const rest = () => comeToRest(service.origin, signal);
  const ask = (path: string, body: object) =>
    post(
      `${service.operator.url}/treasury/${path}`,
      service.boot.keys.test.secret,
      JSON.stringify(body),
      signal,
    );

  async function deposits(count: number): Promise<Deposits> {
    const wanted = Array.from({ length: count }, (): Wanted => {
      const user = users[made % users.length];
      if (!user) throw new Error('Nobody can deposit.');
      return { ref: `bench-${made++}`, user };
    });
    const finalAt = await chain.finalityClock();
    const before = await processFigures(service.origin, signal);
    const fromUs = nowUs();
    await inParallel(count, (index) => {
      const { ref, user } = wanted[index] as Wanted;
      return ask('deposit', { userId: user.userId, currency: SOL, amount: String(DEPOSIT_LAMPORTS), ref });
    });
    const requestedUs = nowUs();
    for (const { ref } of wanted) await untilConfirmed(ref);
    const toUs = nowUs();
    const after = await processFigures(service.origin, signal);
    const perSecond = (untilUs: number) => (count / (untilUs - fromUs)) * 1_000_000;
    return {
      fromUs,
      toUs,
      requestedPerSecond: perSecond(requestedUs),
      confirmedPerSecond: perSecond(toUs),
      cpuMsPerMove: ((after.cpuSeconds - before.cpuSeconds) * 1_000) / count,
      times: await timesOf(service, wanted, finalAt),
    };
  }

  /** In the order of their requests: when the first is confirmed, most of the others are too. */
  async function untilConfirmed(ref: string): Promise<void> {
    for (;;) {
      const move: { readonly status: string; readonly error: unknown } = JSON.parse(
        await ask('status', { ref }),
      );
      if (move.status === 'confirmed') return;
      if (move.status === 'failed') throw new Error(`${ref} has failed: ${JSON.stringify(move.error)}`);
      await delay(STATUS_PAUSE_MS, undefined, { signal });
    }
  }

  run.progress('warming up');
  await deposits(WARM_UP_MOVES);
  return { deposits, rest };
}

const nowUs = () => Number(process.hrtime.bigint() / 1_000n);

interface Wanted {
  readonly ref: string;
  readonly user: SignedInUser;
}

interface LoggedEvent {
  readonly stream: string;
  readonly type: string;
  readonly data: string;
  readonly at: number;
}

/** From the log, except when a block became final: only the chain knows that. */
async function timesOf(
  { databaseUrl, boot: { appId } }: ServiceUnderTest,
  wanted: readonly Wanted[],
  finalAt: (slot: number) => number,
): Promise<readonly MoveTimes[]> {
  const moveOf = ({ ref }: Wanted) => moveStreamName(treasuryMovePlace('test', appId, ref));
  const accountOf = ({ user }: Wanted) =>
    accountStreamOf({ environment: 'test', appId, userId: user.userId, currencyId: SOL });
  const streams = new Set(wanted.flatMap((one) => [moveOf(one), accountOf(one)]));
  const events = await eventsOf(databaseUrl, [...streams]);

  const ofMoves = new Map(events.map((event) => [`${event.stream} ${event.type}`, event]));
  const credits = new Map(
    events
      .filter(({ type }) => type === 'AccountCredited')
      .map((event) => [`${event.stream} ${JSON.parse(event.data).entryId}`, event]),
  );
  return wanted.map((one) => {
    const inMove = (type: string) => found(ofMoves.get(`${moveOf(one)} ${type}`), one, type);
    const confirmed = inMove('MoveConfirmed');
    const credited = credits.get(`${accountOf(one)} ${depositEntryId(one.ref)}`);
    return {
      requested: inMove('MoveRequested').at,
      signed: inMove('TransactionSigned').at,
      submitted: inMove('TransactionSubmitted').at,
      final: finalAt(Number(JSON.parse(confirmed.data).slot)),
      confirmed: confirmed.at,
      credited: found(credited, one, 'AccountCredited').at,
    };
  });
}

function found(event: LoggedEvent | undefined, { ref }: Wanted, type: string): LoggedEvent {
  if (!event) throw new Error(`The log has no ${type} of ${ref}.`);
  return event;
}

async function eventsOf(databaseUrl: string, streams: readonly string[]): Promise<readonly LoggedEvent[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<LoggedEvent>(
      `select stream, type, data, (extract(epoch from created) * 1000)::float8 as at
         from log.events where stream = any($1)`,
      [streams],
    );
    return rows;
  } finally {
    await client.end();
  }
}
