import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Counter, Registry } from 'prom-client';
import { createMetricsRegistry, type MetricFigures, metricsText } from './metrics.ts';

const TURN_MS = 20;
const HELD_MS = 500;

describe('coffer_event_loop_delay_seconds', () => {
  it('tells how long a thread held up what was due, since metrics were last read', async () => {
    const registry = createMetricsRegistry('api');
    const longestDelay = async () => {
      await delay(TURN_MS);
      const text = await registry.metrics();
      return Number(/^coffer_event_loop_delay_seconds\{thread="api",quantile="1"\} (\S+)$/m.exec(text)?.[1]);
    };
    await longestDelay();
    await delay(TURN_MS);
    const until = performance.now() + HELD_MS;
    while (performance.now() < until);
    expect(await longestDelay()).to.be.within(0.45, 60);
    expect(await longestDelay()).to.be.lessThan(0.45);
  });
});

describe('the metrics of several threads', () => {
  it('are one page: what both count is added up, what one tells is there, the start of the process as well', async () => {
    const other = new Registry();
    for (const name of ['bets_total', 'wins_total']) {
      new Counter({ name, help: 'A count.', labelNames: ['kind'], registers: [other] }).inc({ kind: 'a' }, 2);
    }
    const registry = createMetricsRegistry('api');
    new Counter({ name: 'bets_total', help: 'A count.', labelNames: ['kind'], registers: [registry] }).inc({
      kind: 'a',
    });
    const text = await metricsText(registry, async () => [await other.getMetricsAsJSON()]);
    expect(text).to.include('bets_total{kind="a"} 3\n').and.include('wins_total{kind="a"} 2\n');
    expect(text).to.match(/^process_start_time_seconds \d+$/m);
    expect(text.match(/^# TYPE bets_total/gm)).to.have.length(1);
    expect(text).to.match(/^coffer_metrics_complete 1$/m);
  });

  it('are those of this thread while another one hangs, and the page says so until it answers again', async () => {
    const [registry, other] = [new Registry(), new Registry()];
    new Counter({ name: 'bets_total', help: 'A count.', registers: [registry] }).inc(3);
    const hung = Promise.withResolvers<readonly MetricFigures[]>();
    const page = () => metricsText(registry, () => hung.promise, 1);
    expect(await page())
      .to.match(/^coffer_metrics_complete 0$/m)
      .and.match(/^bets_total 3$/m);
    hung.resolve([await other.getMetricsAsJSON()]);
    expect(await page()).to.match(/^coffer_metrics_complete 1$/m);
  });
});
