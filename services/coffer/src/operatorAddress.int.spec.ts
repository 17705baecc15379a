/** Operator routes on an address of their own, and a word about it where they have none. */

import { createClient, requireStatus, setUpApp } from '@coffer/host/testing';
import { expect } from 'chai';
import { startWorld } from './testing/world.ts';

describe('operator routes', () => {
  it('with a port of their own are there and nowhere else, and the others are not there', async () => {
    const world = await startWorld({ environment: { COFFER_OPERATOR_PORT: '0', HOST: '0.0.0.0' } });
    try {
      expect(world.operatorUrl).to.match(/^http:\/\/127\.0\.0\.1:/);
      const baseUrl = `${world.operatorUrl}/v1`;
      const operator = createClient({ baseUrl, operatorToken: world.operatorToken });
      const app = await setUpApp(operator);
      expect((await world.client.get('/portal/apps')).status).to.equal(404);
      requireStatus(await operator.get('/portal/apps'), 200);

      const key = app.test.secretKey;
      requireStatus(await world.client.get('/ledger/sessions', { key }), 200);
      expect((await operator.get('/ledger/sessions', { key })).status).to.equal(404);

      const [forAll, forOperators] = ['/openapi.json', '/operator/openapi.json'] as const;
      const pathsOf = async ({ get }: typeof operator, document: string) =>
        Object.keys(Object(requireStatus(await get(document), 200).json.paths));
      expect(await pathsOf(operator, forOperators))
        .to.include('/portal/apps')
        .and.not.include('/ledger/bet');
      expect(await pathsOf(world.client, forAll))
        .to.include('/ledger/bet')
        .and.not.include('/portal/apps');
      expect((await operator.get(forAll)).status).to.equal(404);
      expect((await world.client.get(forOperators)).status).to.equal(404);
      const pageAt = async (url: string, page: string) => (await fetch(`${url}${page}`)).status;
      expect(await pageAt(world.url, '/docs')).to.equal(200);
      expect(await pageAt(world.url, '/docs/operator')).to.equal(404);
      expect(await pageAt(String(world.operatorUrl), '/docs/operator')).to.equal(200);
      expect(await pageAt(String(world.operatorUrl), '/docs')).to.equal(404);
      for (const url of [world.url, world.operatorUrl]) {
        const metrics = await (await fetch(`${url}/metrics`)).text();
        expect(metrics).to.include('route="/portal/apps"').and.include('route="/ledger/sessions"');
      }
      expect(world.logLines.join('')).not.to.include('can reach the operator routes');
    } finally {
      await world.stop();
    }
  });

  it('are told of in the log where others than this machine can reach them', async () => {
    for (const [host, isTold] of [
      ['0.0.0.0', true],
      ['127.0.0.1', false],
    ] as const) {
      const world = await startWorld({ environment: { HOST: host } });
      try {
        const told = world.logLines.some((line) =>
          line.includes('others than this machine can reach the operator routes'),
        );
        expect(told, host).to.equal(isTold);
      } finally {
        await world.stop();
      }
    }
  });
});
