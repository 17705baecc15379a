import { positiveAmount } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { type Endpoint, endpoint } from './endpoint.ts';
import { httpErrors } from './errors.ts';
import { openApiDocument } from './openApi.ts';
import { buy, shopErrors } from './testing/shop.ts';
import { ask, startWorld } from './testing/world.ts';

const thing = z.strictObject({ id: z.string(), price: positiveAmount }).meta({ id: 'Thing' });
const show = endpoint({
  method: 'GET',
  path: '/things/:thingId',
  credential: 'pk',
  summary: 'Show things',
  description: 'All of them.',
  query: z.strictObject({ limit: z.string().describe('At most so many.').optional(), after: z.string() }),
  success: { status: 200, schema: z.strictObject({ things: z.array(thing) }) },
  errors: ['shop/closed'],
  handle: () => ({ status: 200, body: { things: [] } }),
});

const NO_NUL = '^[^\\u0000]*$';
const UP_TO_AN_AMOUNT = z.toJSONSchema(positiveAmount, { io: 'input' }).pattern;

const linked = (bought: Endpoint, ...others: readonly Endpoint[]) => {
  const links = {
    'GET /things/:thingId': { thingId: '$response.body#/item', after: '$response.body#/price' },
    'POST /shop/purchases': { item: '$response.body#/item' },
  };
  const catalog = { ...httpErrors, ...shopErrors };
  return openApiDocument({
    title: 'Shop',
    endpoints: [{ ...bought, links }, ...others],
    catalog,
    version: '1.2.3',
  });
};

describe('the OpenAPI document', () => {
  const document = openApiDocument({
    title: 'Shop',
    endpoints: [buy, show],
    catalog: { ...httpErrors, ...shopErrors },
    version: '1.2.3',
  });
  const purchase = document.paths['/shop/purchases']?.post;
  const things = document.paths['/things/{thingId}']?.get;

  it('describes the body by the schema that checks it: amounts are text, unknown fields are refused', () => {
    expect(purchase?.requestBody?.content['application/json']?.schema).to.deep.equal({
      $ref: '#/components/schemas/postShopPurchasesRequest',
    });
    expect(document.components.schemas.postShopPurchasesRequest).to.deep.equal({
      type: 'object',
      properties: {
        item: { type: 'string', minLength: 1, pattern: NO_NUL },
        price: { type: 'string', pattern: UP_TO_AN_AMOUNT, examples: ['100000'] },
        note: { type: 'string', pattern: NO_NUL },
      },
      required: ['item', 'price'],
      additionalProperties: false,
    });
  });

  it('gives an example that the schema itself accepts', () => {
    const example = purchase?.requestBody?.content['application/json']?.example;
    expect(buy.body?.safeParse(example).success).to.equal(true);
  });

  it('names the credential of each operation, and those alone', () => {
    expect(purchase?.security).to.deep.equal([{ secretKey: [] }]);
    expect(things?.security).to.deep.equal([{ publishableKey: [] }]);
    expect(document.components.securitySchemes).to.have.all.keys('secretKey', 'publishableKey');
  });

  it('lists path and query parameters', () => {
    expect(things?.parameters).to.deep.equal([
      {
        name: 'thingId',
        in: 'path',
        required: true,
        schema: { type: 'string', minLength: 1, examples: ['example'] },
      },
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'At most so many.',
        schema: { type: 'string', pattern: NO_NUL },
      },
      { name: 'after', in: 'query', required: true, schema: { type: 'string', pattern: NO_NUL } },
    ]);
  });

  it('lists by status the codes of the endpoint and the common ones', () => {
    const codes = Object.fromEntries(
      Object.entries(purchase?.responses ?? {}).map(([status, { description }]) => [status, description]),
    );
    expect(codes).to.deep.equal({
      '201': 'Done.',
      '400': 'request/malformed_json, request/invalid',
      '401': 'auth/missing_credentials, auth/invalid_key',
      '403': 'auth/wrong_credential_kind',
      '409': 'shop/too_poor',
      '413': 'request/too_large',
      '415': 'request/unsupported_media_type',
      '429': 'request/rate_limited',
      '500': 'service/internal',
      '503': 'service/overloaded, service/unavailable, service/outcome_unknown',
    });
    expect(Object.keys(things?.responses ?? {})).to.include.members(['200', '400', '404']);
    expect(things?.responses['404']?.content?.['application/json']?.examples).to.deep.equal({
      'shop/closed': { value: { code: 'shop/closed', message: 'The shop is closed.', details: {} } },
    });
  });

  it('keeps a schema with a name in one place, and every reference has its target', () => {
    expect(document.components.schemas.Thing).to.have.property('type', 'object');
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)];
    expect(references.length).to.be.greaterThan(5);
    for (const [reference, kind, name] of references) {
      expect(document.components, reference).to.have.nested.property(`${kind}.${name}`);
    }
    expect(JSON.stringify(document)).to.not.include('$defs');
  });

  it('links an answer to the requests that can follow, as far as they are in the document', () => {
    const { responses } = linked(buy, show).paths['/shop/purchases']?.post ?? {};
    expect(responses?.['201']?.links).to.deep.equal({
      getThingsThingId: {
        operationId: 'getThingsThingId',
        parameters: { thingId: '$response.body#/item', after: '$response.body#/price' },
      },
      postShopPurchases: {
        operationId: 'postShopPurchases',
        requestBody: { item: '$response.body#/item' },
      },
    });
    expect(linked(buy).paths['/shop/purchases']?.post?.responses['201']?.links).to.have.all.keys(
      'postShopPurchases',
    );
  });

  it('describes what the service sends to others, if it sends anything', () => {
    const { webhooks, components, tags } = openApiDocument({
      title: 'Shop',
      endpoints: [buy],
      messages: [
        {
          name: 'thing.sold',
          summary: 'A thing was sold.',
          headers: { 'X-Shop': 'Which shop.' },
          schema: thing,
          success: 'Received.',
        },
      ],
      catalog: { ...httpErrors, ...shopErrors },
      version: '1.2.3',
    });
    expect(webhooks?.['thing.sold']?.post).to.deep.equal({
      operationId: 'thing.sold',
      tags: ['webhooks'],
      summary: 'A thing was sold.',
      security: [],
      parameters: [
        {
          name: 'X-Shop',
          in: 'header',
          required: true,
          description: 'Which shop.',
          schema: { type: 'string' },
        },
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Thing' },
            example: { id: 'example-1', price: '100000' },
          },
        },
      },
      responses: { '2XX': { description: 'Received.' } },
    });
    expect(components.schemas).to.have.property('Thing');
    expect(tags.map(({ name }) => name)).to.include('webhooks');
    expect(document).not.to.have.property('webhooks');
  });

  it('names its server at the public address, and is the same for everybody', async () => {
    const shown = async (origin?: () => string) => {
      await using world = await startWorld({ ...(origin && { origin }) });
      const { body } = await ask(`${world.base}/openapi.json`, { headers: { host: 'evil.example' } });
      return body.servers;
    };
    expect(await shown(() => 'https://wallet.example')).to.deep.equal([{ url: 'https://wallet.example/v1' }]);
    expect(await shown()).to.deep.equal([{ url: '/v1' }]);
  });

  it('is served, with the catalogue and itself', async () => {
    await using world = await startWorld({ endpoints: [buy, show] });
    const { status, body } = await ask(`${world.base}/openapi.json`);
    expect(status).to.equal(200);
    expect(body.openapi).to.equal('3.1.0');
    expect(body.paths).to.include.keys('/shop/purchases', '/things/{thingId}', '/errors', '/openapi.json');
  });
});
