/** A running service, the yardsticks and the load generator, ready to be measured route by route. */
import { join } from 'node:path';
import { askChild, type Child, forkChild, nextMessage, pidOf, type Run } from './children.ts';
import type { LoadOrder, LoadOutcome, LoadReport, LoadRequests } from './load.ts';
import { BETS_PER_BATCH, OPEN_SESSIONS, SIGNED_IN_PLAYERS } from './plan.ts';
import { openSessions } from './players.ts';
import type { Target } from './preparedRequest.ts';
import { type ProcessorTimes, processorTimes, spentBetween } from './processorTimes.ts';
import { cleanEnvironment, type ServiceUnderTest } from './service.ts';
import { type SignedInPlayers, signInPlayers } from './signIns.ts';
import { comeToRest, processFigures } from './watch.ts';
import type { YardstickPorts } from './yardstickServer.ts';

/** The first two are yardsticks. */
export type RouteName =
  | 'express'
  | 'http'
  | 'bet'
  | 'hotSession'
  | 'batch'
  | 'verify'
  | 'challenge'
  | 'signIn';

const STOP_LIMIT_MS = 5_000;
const ANSWER_MARGIN_MS = 60_000;
const FILL_LIMIT_MS = 600_000;

/** What the service spent while its route was measured; empty and null for a yardstick. */
export interface RouteReport extends LoadReport {
  /** Milliseconds of processor time by process and thread; empty where the system does not tell. */
  readonly spent: ProcessorTimes;
  readonly loopDelayP99Ms: number | null;
}

export interface HttpBench {
  /** Single bets are placed in the sessions given, or else in those that the bench has opened. */
  measure(
    route: RouteName,
    connections: number,
    until: LoadOrder['until'],
    sessionIds?: readonly string[],
  ): Promise<RouteReport>;
  /** More of them, of other players. */
  openSessions(count: number): Promise<readonly string[]>;
  /** Sends each of the bodies once. */
  send(path: string, bodies: readonly string[], connections: number): Promise<LoadReport>;
  /** The same empty request at a fixed rate. */
  sendAtRate(
    path: string,
    key: string,
    pace: Pick<LoadOrder, 'connections'> & { readonly perSecond: number; readonly measuredMs: number },
  ): Promise<LoadReport>;
  /** Waits until the service has nothing left to do, and notes its memory. */
  rest(): Promise<void>;
  readonly bets: () => number;
  readonly largestResidentMiB: () => number;
}

export async function prepareHttpBench(
  run: Run,
  service: ServiceUnderTest,
  sessions = OPEN_SESSIONS,
): Promise<HttpBench> {
  const yardsticks = await startYardsticks(run);
  const generator = forkChild(run, join(import.meta.dirname, 'loadGenerator.ts'), {
    name: 'The load generator',
    env: cleanEnvironment(),
    stopLimitMs: STOP_LIMIT_MS,
  });
  const { secret, publishable } = service.boot.keys.test;
  const target = (path: string, key: string): Target => ({ port: service.port, path: `/v1/${path}`, key });
  const options = { service, signal: run.signal };
  let bets = 0;
  let betRequests = 0;
  let largestResidentMiB = 0;

  /** Only if bets are measured, because sessions take a while to open. */
  const openedSessions = once(() => {
    run.progress(`opening ${sessions} sessions`);
    return openSessions(options, sessions);
  });
  const signedInPlayers = once((): Promise<SignedInPlayers> => {
    run.progress(`signing ${SIGNED_IN_PLAYERS} players in`);
    return signInPlayers(options, SIGNED_IN_PLAYERS);
  });
  /** From the last turn of challenges, to be used up by the next turn of sign-ins. */
  let challenges: readonly string[] = [];

  const bodies = (list: readonly string[], keepAnswers = false): LoadRequests => ({
    kind: 'bodies',
    bodies: list,
    keepAnswers,
  });
  const betsOn = (sessionIds: readonly string[], betsPerRequest = 1): LoadRequests => ({
    kind: 'bets',
    sessionIds,
    betsPerRequest,
  });
  /** Each turn continues where the previous one stopped, or the first sessions would get most of the bets. */
  const sessionsInTurn = async (): Promise<readonly string[]> => {
    const sessionIds = await openedSessions();
    const next = betRequests % sessionIds.length;
    return [...sessionIds.slice(next), ...sessionIds.slice(0, next)];
  };
  const orderOf = async (
    route: RouteName,
    sessionIds?: readonly string[],
  ): Promise<Pick<LoadOrder, 'target' | 'requests'>> => {
    switch (route) {
      case 'express':
      case 'http':
        return {
          target: { ...target('ledger/bet', secret), port: yardsticks.ports[route] },
          requests: betsOn([`ses_${'a'.repeat(26)}`]),
        };
      case 'bet':
        return {
          target: target('ledger/bet', secret),
          requests: betsOn(sessionIds ?? (await sessionsInTurn())),
        };
      case 'batch':
        return {
          target: target('ledger/batch', secret),
          requests: betsOn(await sessionsInTurn(), BETS_PER_BATCH),
        };
      case 'hotSession':
        // A new one each time, because a session takes a limited number of writes.
        return { target: target('ledger/bet', secret), requests: betsOn(await openSessions(options, 1)) };
      case 'verify':
        return {
          target: target('sessions/verify', secret),
          requests: bodies((await signedInPlayers()).verifications),
        };
      case 'challenge':
        return {
          target: target('auth/siws/challenge', publishable),
          requests: bodies((await signedInPlayers()).challengeRequests, true),
        };
      case 'signIn':
        // The client's work, above all the signature, is done before anything is measured.
        return {
          target: target('auth/siws/verify', publishable),
          requests: bodies((await signedInPlayers()).answersTo(challenges)),
        };
    }
  };

  const timesNow = () => processorTimes(service.pid, pidOf(generator));

  return {
    async measure(route, connections, until, sessionIds) {
      const order: LoadOrder = { ...(await orderOf(route, sessionIds)), connections, until };
      const durationMs = until.kind === 'answers' ? FILL_LIMIT_MS : until.measuredMs + ANSWER_MARGIN_MS;
      const isOurs = order.target.port === service.port;
      const before = isOurs ? await timesNow() : undefined;
      const answer = askChild(generator, order, durationMs);
      const report = reportOf(
        await Promise.race([answer, yardsticks.child.ended, service.child.ended]),
        route,
      );
      if (order.requests.kind === 'bets' && isOurs) {
        betRequests += report.answersInAll;
        bets += report.answersInAll * order.requests.betsPerRequest;
      }
      if (route === 'challenge') challenges = report.keptAnswers;
      const after = before && (await timesNow());
      return {
        ...report,
        spent: before && after ? spentBetween(before, after) : new Map(),
        loopDelayP99Ms: isOurs ? (await processFigures(service.origin, run.signal)).loopDelayP99Ms : null,
      };
    },
    openSessions: (count) => openSessions(options, count),
    async send(path, list, connections) {
      const order: LoadOrder = {
        target: target(path, secret),
        connections,
        requests: bodies(list),
        until: { kind: 'answers', answers: list.length },
      };
      const answer = askChild(generator, order, FILL_LIMIT_MS);
      return reportOf(await Promise.race([answer, service.child.ended]), path);
    },
    async sendAtRate(path, key, { connections, ...pace }) {
      const order: LoadOrder = {
        target: target(path, key),
        connections,
        requests: bodies(['{}']),
        until: { kind: 'rate', ...pace },
      };
      const answer = askChild(generator, order, pace.measuredMs + ANSWER_MARGIN_MS);
      return reportOf(await Promise.race([answer, service.child.ended]), path);
    },
    async rest() {
      const { residentMiB } = await processFigures(service.origin, run.signal);
      largestResidentMiB = Math.max(largestResidentMiB, residentMiB);
      await comeToRest(service.origin, run.signal);
    },
    bets: () => bets,
    largestResidentMiB: () => largestResidentMiB,
  };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function startYardsticks(run: Run): Promise<{ child: Child; ports: YardstickPorts }> {
  const child = forkChild(run, join(import.meta.dirname, 'yardstickServer.ts'), {
    name: 'The server of the yardsticks',
    env: cleanEnvironment(),
    stopLimitMs: STOP_LIMIT_MS,
  });
  // The child is ours and sends nothing else.
  return { child, ports: (await nextMessage(child, ANSWER_MARGIN_MS)) as YardstickPorts };
}

function reportOf(message: unknown, route: string): LoadReport {
  // The load generator is ours and sends nothing else.
  const outcome = message as LoadOutcome;
  if (outcome.kind === 'failure') throw new Error(`${route}: ${outcome.message}`);
  if (outcome.report.answers === 0)
    throw new Error(`${route}: nothing was answered within the measured time.`);
  return outcome.report;
}
