import { expect } from 'chai';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createHttpMetrics } from './metrics.ts';
import { mount } from './mount.ts';
import { simpleEndpoint } from './testing/shop.ts';

describe('the schema of an endpoint', () => {
  it('is compiled once, however many requests ask for it', () => {
    const body = z.object({ item: z.string() });
    const endpoint = simpleEndpoint({ path: '/a', handle: () => ({ status: 200 }), body });
    const metrics = createHttpMetrics(new Registry(), () => 0);
    const [mounted] = mount([endpoint], {}, metrics, 1_000);
    const compiled = mounted?.body();
    expect(compiled?.parse({ item: 'a' })).to.deep.equal({ item: 'a' });
    expect(mounted?.body()).to.equal(compiled);
  });
});
