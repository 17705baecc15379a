/**
 * Measures webhooks: how soon endpoints are told while others hang, how fast deliveries leave, and what the emitter
 * costs a bet.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { BarePostsOrder } from './barePosts.ts';
import { judge, ratios, type Verdict } from './bars.ts';
import { askChild, forkChild, nextMessage, type Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { inParallel } from './inParallel.ts';
import { atRate } from './pacing.ts';
import type { BenchPlan } from './plan.ts';
import { createUser, post, postFor } from './players.ts';
import { cleanEnvironment, type ServiceUnderTest, startService } from './service.ts';
import type { ReceiverOrder, ReceiverReport } from './webhookReceivers.ts';

/** By round. */
export interface WebhookFigures {
  readonly isolation: readonly IsolationFigures[];
  readonly deliveriesPerSecond: readonly number[];
  readonly barePostsPerSecond: readonly number[];
  /** From the time of an event to its arrival at the endpoint. */
  readonly emitLags: readonly Latency[];
  /** A second, of a service with emitter and sender, and of one without. */
  readonly betsBeside: readonly number[];
  readonly betsWithout: readonly number[];
}

type Latency = Pick<ReceiverReport, 'p50Ms' | 'p99Ms'>;

/** Of the endpoints that always answer, while so many of the others hang. */
interface IsolationFigures {
  readonly none: Latency;
  readonly one: Latency;
  readonly ten: Latency;
}

const APPS = 10;
const ENDPOINTS_PER_APP = 10;
const ENDPOINTS = APPS * ENDPOINTS_PER_APP;
const MOST_HANGING = 10;
/** Each is for all endpoints of an app. */
const ISOLATION_EVENTS_PER_SECOND = 100;
const EMIT_EVENTS_PER_SECOND = 500;
const EMIT_CONNECTIONS = 64;
/** Of each app, in one turn; each is for all its endpoints. */
const QUEUED_EVENTS = 300;
const BARE_IN_FLIGHT = 256;
const BET_CONNECTIONS = 256;
const LIMIT_MS = 120_000;
const LOOK_MS = 50;
const WITHOUT_WEBHOOKS = ['api', 'projector', 'process-manager', 'chain-worker', 'reconciler'];

export async function measureWebhooks(
  run: Run,
  service: ServiceUnderTest,
  plan: BenchPlan,
): Promise<WebhookFigures> {
  const isolation: IsolationFigures[] = [];
  const deliveriesPerSecond: number[] = [];
  const barePostsPerSecond: number[] = [];
  const emitLags: Latency[] = [];
  const betsBeside: number[] = [];
  const betsWithout: number[] = [];

  await using world = await prepareWebhooks(run, service);
  await world.isolation(0, plan.webhookMs);
  await world.deliveries();
  await world.barePosts();
  for (let round = 0; round < plan.webhookRounds; round++) {
    const none = await world.isolation(0, plan.webhookMs);
    const one = await world.isolation(1, plan.webhookMs);
    const ten = await world.isolation(MOST_HANGING, plan.webhookMs);
    isolation.push({ none, one, ten });
    run.progress(
      `webhooks: p99 ${[none, one, ten].map(({ p99Ms }) => Math.round(p99Ms))} ms with 0, 1, 10 dead`,
    );
    barePostsPerSecond.push(await world.barePosts());
    deliveriesPerSecond.push(await world.deliveries());
    run.progress(
      `deliveries ${Math.round(deliveriesPerSecond.at(-1) ?? 0)} of ${Math.round(barePostsPerSecond.at(-1) ?? 0)} bare posts a second`,
    );
    emitLags.push(await world.emitLag(plan.webhookMs));
    run.progress(`emit lag: p99 ${Math.round(emitLags.at(-1)?.p99Ms ?? 0)} ms`);
  }

  const other = await startService(run, { roles: WITHOUT_WEBHOOKS });
  const benches: readonly (readonly [HttpBench, number[]])[] = [
    [await prepareHttpBench(run, service), betsBeside],
    [await prepareHttpBench(run, other), betsWithout],
  ];
  for (const [bench] of benches) await betsPerSecond(bench, plan, plan.warmUpMs);
  for (let round = 0; round < plan.rounds; round++) {
    // Whoever comes first meets a machine that has rested.
    for (const [bench, rates] of round % 2 === 0 ? benches : benches.toReversed()) {
      rates.push(await betsPerSecond(bench, plan, plan.measuredMs));
    }
    run.progress(
      `bets ${Math.round(betsBeside.at(-1) ?? 0)}, ${Math.round(betsWithout.at(-1) ?? 0)}/s without webhooks`,
    );
  }
  await other.stop();
  return { isolation, deliveriesPerSecond, barePostsPerSecond, emitLags, betsBeside, betsWithout };
}

async function betsPerSecond(bench: HttpBench, { rampMs }: BenchPlan, measuredMs: number): Promise<number> {
  await bench.rest();
  const { answers, measuredSeconds } = await bench.measure('bet', BET_CONNECTIONS, {
    kind: 'time',
    rampMs,
    measuredMs,
  });
  return answers / measuredSeconds;
}

/** Ten apps with ten endpoints each, and one endpoint of the demo app. */
async function prepareWebhooks(run: Run, service: ServiceUnderTest) {
  const { signal } = run;
  const { boot, operator } = service;
  const options = { service, signal };
  const children = { env: cleanEnvironment(), stopLimitMs: 5_000 };
  const receivers = forkChild(run, join(import.meta.dirname, 'webhookReceivers.ts'), {
    ...children,
    name: 'The receivers of webhooks',
  });
  // The child is ours and sends its port first.
  const origin = `http://127.0.0.1:${(await nextMessage(receivers, LIMIT_MS)) as number}`;
  const poster = forkChild(run, join(import.meta.dirname, 'barePosts.ts'), {
    ...children,
    name: 'The yardstick of deliveries',
  });
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  const bench = await prepareHttpBench(run, service);

  const portal = `${operator.url}/portal`;
  const subscribe = async (appId: string, endpoints: readonly number[]) => {
    const { token } = await postFor(`${portal}/app/${appId}/token`, operator.token, {}, 'token', signal);
    for (const endpoint of endpoints) {
      const body = JSON.stringify({ url: `${origin}/${endpoint}`, environment: 'test' });
      await post(`${portal}/app/${appId}/webhooks`, token, body, signal);
    }
  };
  const appIds = await inParallel(APPS, async (index) => {
    const { appId } = await postFor(
      `${portal}/apps`,
      operator.token,
      { name: `Bench ${index}` },
      'appId',
      signal,
    );
    // Each has one of the first, which may hang.
    const endpoints = Array.from({ length: ENDPOINTS_PER_APP }, (_, nth) => nth * APPS + index);
    await subscribe(appId, endpoints);
    return appId;
  });
  await subscribe(boot.appId, [ENDPOINTS]);

  const ask = (order: ReceiverOrder) => askChild(receivers, order, LIMIT_MS);
  // The child is ours and answers a report with a report.
  const report = async (fromEndpoint: number) =>
    (await ask({ kind: 'report', fromEndpoint })) as ReceiverReport;

  /** Until nothing is left to deliver; what had hung is answered. */
  async function rest(): Promise<void> {
    await ask({ kind: 'begin', hanging: 0 });
    for (;;) {
      const { rowCount } = await client.query(
        "select from records.webhook_deliveries where state = 'pending' limit 1",
      );
      if (rowCount === 0) break;
      await delay(LOOK_MS, undefined, { signal });
    }
    await bench.rest();
  }

  async function isolation(hanging: number, ms: number): Promise<Latency> {
    await rest();
    await ask({ kind: 'begin', hanging });
    const requests = (ISOLATION_EVENTS_PER_SECOND * ms) / 1_000;
    const created: Promise<unknown>[] = [];
    await atRate({ perSecond: ISOLATION_EVENTS_PER_SECOND, requests }, () => {
      created.push(createUser(options, appIds[created.length % appIds.length]));
    });
    await Promise.all(created);
    await ask({ kind: 'await', count: requests * ENDPOINTS_PER_APP - (requests * hanging) / APPS });
    return report(MOST_HANGING);
  }

  async function deliveries(): Promise<number> {
    await rest();
    await ask({ kind: 'begin', hanging: 0 });
    await client.query(QUEUE, [appIds, QUEUED_EVENTS]);
    await ask({ kind: 'await', count: QUEUED_EVENTS * ENDPOINTS });
    return (await report(0)).perSecond;
  }

  async function barePosts(): Promise<number> {
    await rest();
    await ask({ kind: 'begin', hanging: 0 });
    const { rows } = await client.query<{ body: string }>(
      'select body from records.webhook_events where app_id = any($1) limit 100',
      [appIds],
    );
    const order: BarePostsOrder = {
      origin,
      endpoints: ENDPOINTS,
      bodies: rows.map(({ body }) => `${body.slice(0, -1)},"previousSequence":1}`),
      count: QUEUED_EVENTS * ENDPOINTS,
      inFlight: BARE_IN_FLIGHT,
    };
    await askChild(poster, order, LIMIT_MS);
    return (await report(0)).perSecond;
  }

  async function emitLag(ms: number): Promise<Latency> {
    await rest();
    await ask({ kind: 'begin', hanging: 0 });
    const requests = (EMIT_EVENTS_PER_SECOND * ms) / 1_000;
    await bench.sendAtRate(`portal/app/${boot.appId}/test/users`, operator.token, {
      perSecond: EMIT_EVENTS_PER_SECOND,
      measuredMs: ms,
      connections: EMIT_CONNECTIONS,
    });
    await ask({ kind: 'await', count: requests });
    return report(0);
  }

  return {
    isolation,
    deliveries,
    barePosts,
    emitLag,
    [Symbol.asyncDispose]: async () => {
      await client.end();
    },
  };
}

/** As the emitter leaves them, all at once: copies of an event of each app, for all its endpoints. */
const QUEUE = `
  with moved as (
    update records.webhook_sequences set last = last + $2::integer where app_id = any($1)
    returning app_id, last - $2::integer as before
  ), event as (
    insert into records.webhook_events
      (app_id, sequence, event_id, type, environment, object_id, user_id, stream, revision, created_at, body)
    select app_id, before + n, 'evt_bench_' || app_id || (before + n), type, environment, object_id, user_id,
      'bench-' || (before + n), 0, created_at, body
    from moved cross join generate_series(1, $2::integer) as n
      cross join lateral (select type, environment, object_id, user_id, created_at, body
        from records.webhook_events e where e.app_id = moved.app_id limit 1) as model
    returning app_id, sequence
  )
  insert into records.webhook_deliveries (subscription_id, app_id, sequence, previous_sequence, next_attempt_at)
  select subscription_id, app_id, sequence, sequence - 1, clock_timestamp()
  from event join records.webhook_subscriptions using (app_id)`;

export function webhookVerdicts(figures: WebhookFigures): readonly Verdict[] {
  const { isolation, deliveriesPerSecond, barePostsPerSecond, emitLags, betsBeside, betsWithout } = figures;
  const p99 = (which: keyof IsolationFigures) => isolation.map((round) => round[which].p99Ms);
  return [
    judge('oneDead', ratios(p99('one'), p99('none'))),
    judge('tenDead', ratios(p99('ten'), p99('none'))),
    judge('deliveries', deliveriesPerSecond),
    judge('deliveriesBare', ratios(deliveriesPerSecond, barePostsPerSecond)),
    judge(
      'emitLag',
      emitLags.map(({ p99Ms }) => p99Ms),
    ),
    judge('betsBesideWebhooks', ratios(betsBeside, betsWithout)),
  ];
}
