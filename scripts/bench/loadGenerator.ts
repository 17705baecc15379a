/**
 * The load generator: a separate process that keeps a fixed number of requests in flight and records how long
 * each took. Takes one order at a time from its parent; any unexpected answer ends the order with a failure.
 */
import { type Connection, type ConnectionEvents, openConnection } from './connection.ts';
import { type LoadOrder, type LoadOutcome, type LoadReport, type LoadRequests, monotonicUs } from './load.ts';
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
const DRAIN_LIMIT_MS = 30_000;
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

  const finished = Promise.withResolvers<void>();
  // Awaited only once all connections are open; a failure before that must not count as unhandled.
  finished.promise.catch(() => undefined);
  let noted = 0;
  let answersInAll = 0;
  let inFlight = 0;
  let unsent = until.kind === 'answers' ? until.answers : Number.POSITIVE_INFINITY;
  let measuring = until.kind === 'answers';

  const sendOn = (connection: Connection): void => {
    unsent -= 1;
    inFlight += 1;
    connection.send();
  };
  const events: ConnectionEvents = {
    onAnswer(connection, latencyMs) {
      answersInAll += 1;
      inFlight -= 1;
      if (measuring) {
        if (noted === latenciesMs.length) throw new Error('There are more answers than can be recorded.');
        latenciesMs[noted++] = latencyMs;
      }
      if (unsent > 0) sendOn(connection);
      else if (inFlight === 0) finished.resolve();
    },
    onFailure: finished.reject,
    checkBody,
  };

  const opened: Connection[] = [];
  try {
    for (let index = 0; index < connections; index++) {
      opened.push(await openConnection(target.port, prepare(), events));
    }
    let fromUs = monotonicUs();
    for (const connection of opened) if (unsent > 0) sendOn(connection);
    if (until.kind === 'time') {
      await Promise.race([pause(until.rampMs), finished.promise]);
      measuring = true;
      fromUs = monotonicUs();
      await Promise.race([pause(until.measuredMs), finished.promise]);
      measuring = false;
      unsent = 0;
    }
    const measuredToUs = until.kind === 'time' ? monotonicUs() : undefined;
    if (inFlight > 0) await Promise.race([finished.promise, tooLate()]);
    const toUs = measuredToUs ?? monotonicUs();
    const sorted = latenciesMs.subarray(0, noted).sort();
    return {
      answers: noted,
      measuredSeconds: (toUs - fromUs) / 1e6,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      answersInAll,
      fromUs,
      toUs,
      keptAnswers,
    };
  } finally {
    for (const connection of opened) connection.close();
  }
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

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

async function tooLate(): Promise<never> {
  await pause(DRAIN_LIMIT_MS);
  throw new Error(`Answers were still missing ${DRAIN_LIMIT_MS} ms after the last request.`);
}
