/** Operator routes alongside the others, and at an address of their own. */
import { endpoint } from '@coffer/http';
import { expect } from 'chai';
import { z } from 'zod';
import { defineContext } from './context.ts';
import { contexts } from './contexts.ts';
import {
  type Client,
  type ContextWorld,
  createClient,
  requireStatus,
  startContexts,
} from './testing/index.ts';

const endpointFor = (credential: 'operator' | 'portal' | 'sk') =>
  endpoint({
    method: 'GET',
    path: `/for/${credential}`,
    credential,
    summary: 'Say hello',
    success: { status: 200, schema: z.string() },
    errors: [],
    handle: () => ({ status: 200, body: 'hello' }),
  });
const KEY = 'sk_test_1';
const CALLER = {
  kind: 'secret',
  appId: 'app_1',
  scopeId: 'scp_1',
  environment: 'test',
  keyId: 'key_1',
} as const;

const hello = contexts<object>().with(
  defineContext({
    name: 'hello',
    create: () => ({
      serves: { resolveKey: (token: string) => (token === KEY ? CALLER : undefined) },
      endpoints: [endpointFor('operator'), endpointFor('sk')],
    }),
  }),
);

const portal = contexts<object>().with(
  defineContext({
    name: 'portal',
    create: () => ({
      serves: { operatorAt: async (appId: string) => ({ kind: 'portal', appId, role: 'admin' }) as const },
      endpoints: [endpointFor('operator'), endpointFor('portal')],
    }),
  }),
);

describe('the operator token', () => {
  it('opens what takes portal sessions where operator routes are served, and nowhere else', async () => {
    const config = { operatorAddress: { host: '127.0.0.1', port: 0 } };
    const world = await startContexts({ contexts: portal, given: {}, config });
    try {
      const { operatorToken } = world;
      const operator = createClient({ baseUrl: `${world.operatorUrl}/v1`, operatorToken });
      requireStatus(await operator.get('/for/portal'), 200);
      expect((await world.client.get('/for/portal')).status).to.equal(403);
    } finally {
      await world.stop();
    }
  });
});

describe('operator routes', () => {
  const start = (config?: {
    operatorAddress: { host: string; port: number };
  }): Promise<ContextWorld<object>> =>
    startContexts({ contexts: hello, given: {}, ...(config && { config }) });

  it('are next to the others by default', async () => {
    const world = await start();
    expect(world.operatorUrl).to.equal(world.url);
    requireStatus(await world.client.get('/for/operator'), 200);
    requireStatus(await world.client.get('/for/sk', { key: KEY }), 200);
    await world.stop();
  });

  it('with an address of their own are there and nowhere else, and the others are not there', async () => {
    const world = await start({ operatorAddress: { host: '127.0.0.1', port: 0 } });
    try {
      expect(world.operatorUrl)
        .to.match(/^http:\/\/127\.0\.0\.1:/)
        .and.not.equal(world.url);
      const { operatorToken } = world;
      const operator = createClient({ baseUrl: `${world.operatorUrl}/v1`, operatorToken });
      requireStatus(await operator.get('/for/operator'), 200);
      expect((await world.client.get('/for/operator')).status).to.equal(404);
      requireStatus(await world.client.get('/for/sk', { key: KEY }), 200);
      expect((await operator.get('/for/sk', { key: KEY })).status).to.equal(404);

      const [forAll, forOperators] = ['/openapi.json', '/operator/openapi.json'] as const;
      const pathsOf = async ({ get }: Client, document: string) =>
        Object.keys(Object(requireStatus(await get(document), 200).json.paths));
      expect(await pathsOf(operator, forOperators))
        .to.include('/for/operator')
        .and.not.include('/for/sk');
      expect(await pathsOf(world.client, forAll))
        .to.include('/for/sk')
        .and.not.include('/for/operator');
      expect((await operator.get(forAll)).status).to.equal(404);
      expect((await world.client.get(forOperators)).status).to.equal(404);
      const pageAt = async (url: string, page: string) => (await fetch(`${url}${page}`)).status;
      expect(await pageAt(world.url, '/docs')).to.equal(200);
      expect(await pageAt(world.url, '/docs/operator')).to.equal(404);
      expect(await pageAt(world.operatorUrl, '/docs/operator')).to.equal(200);
      expect(await pageAt(world.operatorUrl, '/docs')).to.equal(404);
      for (const url of [world.url, world.operatorUrl]) {
        const metrics = await (await fetch(`${url}/metrics`)).text();
        expect(metrics).to.include('route="/for/operator"').and.include('route="/for/sk"');
      }
    } finally {
      await world.stop();
    }
  });
});
