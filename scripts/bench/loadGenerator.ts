/**
 * The load generator: a separate process that keeps a fixed number of requests in flight, or sends them at a fixed rate, and
 * records how long each took. Takes one order at a time from its parent; any unexpected answer ends the order with a failure.
 */
import { type Connection, type ConnectionEvents, openConnection } from './connection.ts';
import { type LoadOrder, type LoadOutcome, type LoadReport, type LoadRequests, monotonicUs } from './load.ts';
import { atRate, quantile } from './pacing.ts';
import {
  createUuidSource,
  cycle,
  cycleThrough,
  type PreparedRequest,
  prepareBatch,
  prepareBet,
  prepareInTurn,
  requestBytes,
  type Target,
} from './preparedRequest.ts';

/** Reserved once, so that recording a latency allocates nothing. */
const latenciesMs = new Float64Array(4_000_000);
const SILENCE_LIMIT_MS = 30_000;
const uuids = createUuidSource();

process.on('message', (order: LoadOrder) => {
  carryOut(order).then(
    (report) => reply({ kind: 'report', report }),
    (error: unknown) =>
      reply({ kind: 'failure', message: error instanceof Error ? error.message : String(error) }),
  );
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));

function reply(outcome: LoadOutcome): void {
  process.send?.(outcome);
}

async function carryOut(order: LoadOrder): Promise<LoadReport> {
  const { target, connections, requests, until } = order;
  const { prepare, checkBody, keptAnswers } = workOf(target, requests);
  const failed = Promise.withResolvers<never>();
  // Awaited only once all connections are open; a failure before that must not count as unhandled.
  failed.promise.catch(() => undefined);
  const sending: Sending = {
    noted: 0,
    measuring: until.kind !== 'time',
    answersInAll: 0,
    inFlight: 0,
    onAnswer: () => undefined,
  };
  const events: ConnectionEvents = {
    onAnswer(connection, latencyMs) {
      sending.answersInAll += 1;
      sending.inFlight -= 1;
      if (sending.measuring) note(sending, latencyMs);
      sending.onAnswer(connection);
    },
    onFailure: failed.reject,
    checkBody,
  };

  const opened: Connection[] = [];
  try {
    for (let index = 0; index < connections; index++) {
      opened.push(await openConnection(target.port, prepare(), events));
    }
    const send =
      until.kind === 'rate' ? sendAtRate(until, opened, sending) : sendInTurn(until, opened, sending);
    const { fromUs, toUs, lateP99Ms } = await Promise.race([send, failed.promise]);
    const sorted = latenciesMs.subarray(0, sending.noted).sort();
    return {
      answers: sending.noted,
      measuredSeconds: (toUs - fromUs) / 1e6,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      p999Ms: quantile(sorted, 0.999),
      lateP99Ms,
      answersInAll: sending.answersInAll,
      fromUs,
      toUs,
      keptAnswers,
    };
  } finally {
    for (const connection of opened) connection.close();
  }
}

/** What the requests of one order share. */
interface Sending {
  noted: number;
  /** Whether the latency of an answer counts. */
  measuring: boolean;
  answersInAll: number;
  inFlight: number;
  /** The connection is free again. */
  onAnswer: (connection: Connection) => void;
}

type Sent = Pick<LoadReport, 'fromUs' | 'toUs' | 'lateP99Ms'>;

function note(sending: Sending, latencyMs: number): void {
  if (sending.noted === latenciesMs.length) throw new Error('There are more answers than can be recorded.');
  latenciesMs[sending.noted++] = latencyMs;
}

/** One request in flight on each connection; the next one leaves when the answer has come. */
async function sendInTurn(
  until: Exclude<LoadOrder['until'], { kind: 'rate' }>,
  connections: readonly Connection[],
  sending: Sending,
): Promise<Sent> {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  let unsent = until.kind === 'answers' ? until.answers : Number.POSITIVE_INFINITY;
  const sendOn = (connection: Connection): void => {
    unsent -= 1;
    sending.inFlight += 1;
    connection.send();
  };
  sending.onAnswer = (connection) => {
    if (unsent > 0) sendOn(connection);
    else if (sending.inFlight === 0) finish();
  };
  let fromUs = monotonicUs();
  for (const connection of connections) if (unsent > 0) sendOn(connection);
  if (until.kind === 'answers') {
    await whenAnswered(sending, finished);
    return { fromUs, toUs: monotonicUs(), lateP99Ms: null };
  }
  await pause(until.rampMs);
  sending.measuring = true;
  fromUs = monotonicUs();
  await pause(until.measuredMs);
  sending.measuring = false;
  unsent = 0;
  const toUs = monotonicUs();
  if (sending.inFlight > 0) await whenAnswered(sending, finished);
  return { fromUs, toUs, lateP99Ms: null };
}

/** A request that finds no connection free waits for one; its latency counts from its due time all the same. */
async function sendAtRate(
  { perSecond, measuredMs }: Extract<LoadOrder['until'], { kind: 'rate' }>,
  connections: readonly Connection[],
  sending: Sending,
): Promise<Sent> {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const requests = Math.round((perSecond * measuredMs) / 1_000);
  /** Taken in turn, so that none is idle for ten seconds, after which the service closes it. */
  const free = [...connections];
  /** Due times of requests that found no connection free, oldest first. */
  const waiting: number[] = [];
  let taken = 0;
  sending.onAnswer = (connection) => {
    const dueMs = waiting[taken];
    if (dueMs === undefined) free.push(connection);
    else {
      taken += 1;
      connection.send(dueMs);
    }
    if (sending.answersInAll === requests) finish();
  };
  const fromUs = monotonicUs();
  const lateMs = await atRate({ perSecond, requests }, (dueMs) => {
    sending.inFlight += 1;
    const connection = free.shift();
    if (connection) connection.send(dueMs);
    else waiting.push(dueMs);
  });
  if (sending.inFlight > 0) await whenAnswered(sending, finished);
  return { fromUs, toUs: monotonicUs(), lateP99Ms: quantile(lateMs.sort(), 0.99) };
}

/** How each connection prepares its requests, and what is done with the bodies of the answers. */
function workOf(target: Target, requests: LoadRequests) {
  const keptAnswers: string[] = [];
  if (requests.kind === 'bodies') {
    const nextRequest = cycle(requests.bodies.map((body) => requestBytes(target, body)));
    return {
      prepare: () => prepareInTurn(nextRequest),
      checkBody: requests.keepAnswers ? (body: string) => void keptAnswers.push(body) : undefined,
      keptAnswers,
    };
  }
  const { sessionIds, betsPerRequest } = requests;
  const nextSession = cycleThrough(sessionIds);
  const isBatch = betsPerRequest > 1;
  return {
    prepare: (): PreparedRequest =>
      isBatch
        ? prepareBatch(target, uuids, nextSession, betsPerRequest)
        : prepareBet(target, uuids, nextSession),
    checkBody: isBatch ? (body: string) => checkBatch(body, betsPerRequest) : undefined,
    keptAnswers,
  };
}

/** 200 for the batch says nothing about its bets: each has its own status. */
function checkBatch(body: string, bets: number): void {
  let accepted = 0;
  for (let at = body.indexOf('"status":200'); at >= 0; at = body.indexOf('"status":200', at + 1))
    accepted += 1;
  if (accepted !== bets)
    throw new Error(`Of ${bets} bets ${accepted} were accepted: ${body.slice(0, 1_000)}`);
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Throws when answers stop coming. */
async function whenAnswered(sending: Sending, finished: Promise<void>): Promise<void> {
  const isFinished = finished.then(() => true);
  for (;;) {
    const before = sending.answersInAll;
    if (await Promise.race([isFinished, pause(SILENCE_LIMIT_MS)])) return;
    if (sending.answersInAll === before) throw new Error(`No answer came for ${SILENCE_LIMIT_MS} ms.`);
  }
}
