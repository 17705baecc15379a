/** The header Idempotency-Key in place of a key in the body. Source: docs/api.md, Sending it again. */
import { longCallerId } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { type Endpoint, endpoint } from './endpoint.ts';
import { openApiDocument } from './openApi.ts';
import { shopErrors } from './testing/shop.ts';
import { asJson, ask, startWorld } from './testing/world.ts';

const order: Endpoint = endpoint({
  method: 'POST',
  path: '/orders',
  credential: 'none',
  summary: 'Order once a key',
  body: z.strictObject({ item: z.string(), orderKey: longCallerId }),
  idempotencyHeader: { insteadOf: 'orderKey' },
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body }),
});
const keyless: Endpoint = endpoint({
  method: 'POST',
  path: '/keyless',
  credential: 'none',
  summary: 'Order as often as it comes',
  body: z.strictObject({ orderKey: z.string().optional() }),
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body }),
});

describe('the header Idempotency-Key', () => {
  const invalid = (path: string, message: string) => [
    400,
    'request/invalid',
    { issues: [{ path, message }] },
  ];
  const rows: readonly (readonly [
    what: string,
    header: string | undefined,
    body: unknown,
    answer: unknown,
  ])[] = [
    ['takes the place of the key in the body', 'a', { item: 'x' }, [200, undefined, undefined]],
    [
      'is not needed where the body has one',
      undefined,
      { item: 'x', orderKey: 'a' },
      [200, undefined, undefined],
    ],
    ['may say the same again', 'a', { item: 'x', orderKey: 'a' }, [200, undefined, undefined]],
    [
      'is refused where the body says otherwise',
      'a',
      { item: 'x', orderKey: 'b' },
      invalid('Idempotency-Key', 'must equal orderKey in the body, or be left out'),
    ],
    ['is missed where neither has a key', undefined, { item: 'x' }, invalid('orderKey', 'is required')],
    ['has the form of the key', 'no key', { item: 'x' }, undefined],
    ['changes nothing in an invalid body', 'a', [], invalid('', 'expected object, received array')],
  ];
  for (const [what, header, body, answer] of rows) {
    it(what, async () => {
      await using world = await startWorld({ endpoints: [order] });
      const headers = { ...asJson, ...(header !== undefined && { 'idempotency-key': header }) };
      const given = await ask(`${world.base}/orders`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      if (answer) expect([given.status, given.code, given.body.details]).to.deep.equal(answer);
      else expect(given.status).to.equal(400);
      if (given.status === 200) expect(given.body).to.deep.equal({ item: 'x', orderKey: 'a' });
    });
  }

  it('is ignored by an endpoint that does not take it', async () => {
    await using world = await startWorld({ endpoints: [keyless] });
    const headers = { ...asJson, 'idempotency-key': 'a' };
    const given = await ask(`${world.base}/keyless`, { method: 'POST', headers, body: '{"orderKey":"b"}' });
    expect([given.status, given.body]).to.deep.equal([200, { orderKey: 'b' }]);
  });

  it('is in the OpenAPI document, and the field that it replaces may be left out', () => {
    const document = openApiDocument({
      title: 'Shop',
      endpoints: [order],
      catalog: shopErrors,
      version: '1.2.3',
    });
    expect(document.paths['/orders']?.post?.parameters).to.deep.equal([
      {
        name: 'Idempotency-Key',
        in: 'header',
        required: false,
        description: 'Instead of orderKey in the body. If both are given, they must be equal.',
        schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$', examples: ['example-1'] },
      },
    ]);
    expect(document.components.schemas.postOrdersRequest?.required).to.deep.equal(['item']);
  });
});
