/** Measures the relay to Kafka: how fast it catches up, how late messages are, and what it costs a bet. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startKafkaBroker } from '@coffer/testing';
import { MOST_BATCH_BYTES } from '../../packages/kafka/src/batchLimit.ts';
import { PAGE_SIZE } from '../../packages/kafka/src/relay.ts';
import type { KafkaSettings } from '../../packages/kafka/src/settings.ts';
import type { BareOrder } from './bareKafka.ts';
import { judge, ratios, type Verdict } from './bars.ts';
import { askChild, type Child, forkChild, nextMessage, type Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import type { KafkaOrder, KafkaReport } from './kafkaWorker.ts';
import { BATCH_CONNECTIONS, type BenchPlan } from './plan.ts';
import { cleanEnvironment, startService } from './service.ts';

/** By round. */
export interface KafkaFigures {
  /** Events a second, of a log that waits. */
  readonly relay: readonly number[];
  readonly bare: readonly number[];
  /** From an event to a reader of committed messages. */
  readonly lagP99Ms: readonly number[];
  /** A second, of a service with the relay, and of one without. */
  readonly betsWith: readonly number[];
  readonly betsWithout: readonly number[];
}

const FILLED_MS = 4_000;
const LAG_BETS_PER_SECOND = 1_000;
const LAG_MS = 5_000;
const BET_CONNECTIONS = 256;
/** Of a turn with bets: the relay works in pages, of which a short turn catches a few more or less. */
const BETS_MS = 4_000;
const PREFIX = 'bench';
const PARTITIONS = 6;
const LIMIT_MS = 180_000;

export async function measureKafka(run: Run, plan: BenchPlan): Promise<KafkaFigures> {
  run.progress('starting Kafka, and a service with the relay and one without');
  const broker = await startKafkaBroker({ givesWay: true });
  run.stack.defer(() => broker.stop());
  const settings = (topicPrefix: string): KafkaSettings => ({
    brokers: [broker.brokers],
    tls: undefined,
    sasl: undefined,
    topicPrefix,
    create: { partitions: PARTITIONS, replicas: undefined },
  });
  const child = (file: string, name: string) =>
    forkChild(run, join(import.meta.dirname, file), { name, env: cleanEnvironment(), stopLimitMs: 5_000 });
  const worker = child('kafkaWorker.ts', 'The relay of the bench');
  const yardstick = child('bareKafka.ts', 'The yardstick of the relay');
  const without = await startService(run, {});
  const benchWithout = await prepareHttpBench(run, without);
  await benchWithout.measure('batch', BATCH_CONNECTIONS, { kind: 'time', rampMs: 0, measuredMs: FILLED_MS });
  await benchWithout.rest();

  const relay: number[] = [];
  const bare: number[] = [];
  const newTopics = () => ({
    databaseUrl: without.databaseUrl,
    settings: settings(`bench-${randomUUID().slice(0, 8)}`),
  });
  const relayed = async () => (await reportOf(worker, { kind: 'relay', ...newTopics() })).perSecond;
  const sent = async () => {
    const shape = { partitions: PARTITIONS, pageSize: PAGE_SIZE, batchBytes: MOST_BATCH_BYTES };
    const order: BareOrder = { ...newTopics(), ...shape };
    return Number(await askChild(yardstick, order, LIMIT_MS));
  };
  await relayed();
  await sent();
  for (let round = 0; round < plan.kafkaRounds; round++) {
    relay.push(await relayed());
    bare.push(await sent());
    run.progress(
      `relay and bare: ${Math.round(relay.at(-1) ?? 0)}, ${Math.round(bare.at(-1) ?? 0)} events/s`,
    );
  }

  const service = await startService(run, {
    environment: { KAFKA_BROKERS: broker.brokers, COFFER_KAFKA_TOPIC_PREFIX: PREFIX },
  });
  const benchWith = await prepareHttpBench(run, service);
  const lagP99Ms: number[] = [];
  const betsWith: number[] = [];
  const betsWithout: number[] = [];
  for (const bench of [benchWith, benchWithout]) await betsPerSecond(bench, plan, plan.warmUpMs);
  for (let round = 0; round < plan.kafkaRounds; round++) {
    await benchWith.rest();
    const count = (LAG_BETS_PER_SECOND * LAG_MS) / 1_000;
    const order: KafkaOrder = {
      kind: 'read',
      settings: settings(PREFIX),
      topic: `${PREFIX}.test.playSession`,
      count,
    };
    await askChild(worker, order, LIMIT_MS);
    const report = nextMessage(worker, LIMIT_MS);
    const pace = { kind: 'rate', perSecond: LAG_BETS_PER_SECOND, measuredMs: LAG_MS } as const;
    await benchWith.measure('bet', BET_CONNECTIONS, pace);
    // The worker is ours and sends nothing else.
    lagP99Ms.push(((await report) as KafkaReport).p99Ms);
    run.progress(`p99 from a bet to its message: ${Math.round(lagP99Ms.at(-1) ?? 0)} ms`);
  }
  for (let round = 0; round < plan.rounds; round++) {
    betsWith.push(await betsPerSecond(benchWith, plan, BETS_MS));
    betsWithout.push(await betsPerSecond(benchWithout, plan, BETS_MS));
  }
  await service.stop();
  await without.stop();
  return { relay, bare, lagP99Ms, betsWith, betsWithout };
}

const reportOf = async (worker: Child, order: KafkaOrder): Promise<KafkaReport> =>
  // The worker is ours and sends nothing else.
  (await askChild(worker, order, LIMIT_MS)) as KafkaReport;

async function betsPerSecond(bench: HttpBench, { rampMs }: BenchPlan, measuredMs: number): Promise<number> {
  await bench.rest();
  const until = { kind: 'time', rampMs, measuredMs } as const;
  const { answers, measuredSeconds } = await bench.measure('bet', BET_CONNECTIONS, until);
  return answers / measuredSeconds;
}

export const kafkaVerdicts = (figures: KafkaFigures): readonly Verdict[] => [
  judge('relay', figures.relay),
  judge('relayBare', ratios(figures.relay, figures.bare)),
  judge('relayLag', figures.lagP99Ms),
  judge('betsBesideRelay', ratios(figures.betsWith, figures.betsWithout)),
];
