import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createMetricsRegistry } from './metrics.ts';

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
