/** The relay, and a reader of its topics, in a process of their own. Answers every order with figures. */
import { createPool } from '@coffer/database';
import { ourLog } from '@coffer/event-store';
import { createPostgresEventStore } from '@coffer/event-store/postgres';
import { startRelay } from '../../packages/kafka/src/relay.ts';
import type { KafkaSettings } from '../../packages/kafka/src/settings.ts';
import { nothingTold } from '../../packages/kafka/src/testing/nothingTold.ts';
import { specClient } from '../../packages/kafka/src/testing/topicReader.ts';
import { quantile } from './pacing.ts';

export type KafkaOrder =
  | { readonly kind: 'relay'; readonly databaseUrl: string; readonly settings: KafkaSettings }
  /** Of so many messages that come from now on; answers twice, the first time once it reads. */
  | {
      readonly kind: 'read';
      readonly settings: KafkaSettings;
      readonly topic: string;
      readonly count: number;
    };

export interface KafkaReport {
  /** Of the relay. */
  readonly perSecond: number;
  /** From the event to its arrival; of a reader. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const log = (databaseUrl: string) =>
  createPostgresEventStore({ connectionString: databaseUrl, applicationName: 'bench log' });

async function relay(databaseUrl: string, settings: KafkaSettings): Promise<number> {
  const pool = createPool({
    connectionString: databaseUrl,
    applicationName: 'bench relay',
    onIdleError() {},
  });
  const store = log(databaseUrl);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { rows } = await pool.query<{ count: number }>('select count(*)::integer as count from log.events');
  const events = rows[0]?.count ?? 0;
  let beganMs = 0;
  let published = 0;
  const running = startRelay({
    pool,
    store: ourLog(store),
    settings,
    toldEvents: nothingTold,
    observer: {
      onConnected() {
        beganMs = performance.now();
      },
      onPublished(_what, count) {
        published += count;
        if (published >= events) resolve((events * 1_000) / (performance.now() - beganMs));
      },
      onFailure() {},
    },
    onAlarm: ({ reason }) => reject(new Error(reason)),
    // It tries again: a broker that has just started is not ready at once.
    onTrouble() {},
  });
  const perSecond = await promise;
  await running.stop();
  await store.close();
  await pool.end();
  return perSecond;
}

async function read({ settings, topic, count }: Extract<KafkaOrder, { kind: 'read' }>): Promise<KafkaReport> {
  // Patient: a broker that has just started loads its groups.
  const consumer = specClient(settings.brokers.join()).consumer({
    groupId: `bench-${process.pid}-${Date.now()}`,
  });
  const lagsMs: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  await consumer.connect();
  await consumer.subscribe({ topics: [topic] });
  const stopWaiting = consumer.on('consumer.fetch_start', () => {
    stopWaiting();
    process.send?.('reading');
  });
  await consumer.run({
    async eachBatch({ batch }) {
      const now = Date.now();
      for (const { value } of batch.messages) {
        const time = /"time":"([^"]+)"/.exec(String(value))?.[1] ?? '';
        lagsMs.push(now - Date.parse(time));
      }
      if (lagsMs.length >= count) resolve();
    },
  });
  await promise;
  await consumer.disconnect();
  const sorted = Float64Array.from(lagsMs).sort();
  return { perSecond: 0, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}

async function reportOf(order: KafkaOrder): Promise<KafkaReport> {
  if (order.kind === 'read') return read(order);
  return { perSecond: await relay(order.databaseUrl, order.settings), p50Ms: 0, p99Ms: 0 };
}

process.on('message', (order: KafkaOrder) => {
  reportOf(order).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      throw error;
    },
  );
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));
