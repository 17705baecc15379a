/** What the composed service declares: its errors and its API. */

import { setUpApp } from '@coffer/host/testing';
import { expect } from 'chai';
import { CONTEXTS } from './contexts.ts';
import { operationsOf } from './testing/documentedOperations.ts';
import { verdict } from './testing/ledger.ts';
import { openApiDocuments, openApiPaths } from './testing/openApiDocuments.ts';
import { startWorld, type World } from './testing/world.ts';

const { catalog } = CONTEXTS.facts;

/** Source: contract, Ledger, and the specification's table of endpoints. */
const LEDGER_ENDPOINTS = [
  'POST /ledger/sessions',
  'POST /ledger/bet',
  'POST /ledger/win',
  'POST /ledger/rollback',
  'POST /ledger/balance',
  'POST /ledger/settle',
  'POST /ledger/batch',
  'GET /ledger/sessions',
  'GET /ledger/sessions/{sessionId}',
  'GET /ledger/sessions/{sessionId}/transactions',
  'GET /users/{userId}/accounts',
];

describe('The service, about itself', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  const document = () => openApiPaths(world.client);

  it('lists every error there is, with its status, to anyone', async () => {
    const { status, json } = await world.client.get('/errors', { key: null });
    expect(status).to.equal(200);
    const listed = Object.entries(catalog).map(([code, entry]) => ({ code, ...entry }));
    expect(json.errors).to.have.deep.members(listed);
    for (const { code } of listed) expect(code).to.match(/^[a-z]+\/[a-z_]+$/);
  });

  it('describes itself in OpenAPI 3.1, whole: every reference leads somewhere', async () => {
    for (const described of await openApiDocuments(world.client)) {
      expect(described.openapi).to.match(/^3\.1\.\d+$/);
      expect(described.info).to.include.all.keys('title', 'version');
      const references = JSON.stringify(described).matchAll(/"\$ref":"#\/([^"]+)"/g);
      for (const [, path = ''] of references) {
        const target = path.split('/').reduce((value, part) => Object(value)[part], described as unknown);
        expect(target, path).to.be.an('object');
      }
      const ids = operationsIn(described).map((operation) => String(Object(operation).operationId));
      expect(new Set(ids).size).to.equal(ids.length);
      for (const operation of operationsIn(described)) {
        expect(operation).to.include.all.keys('operationId', 'summary', 'security', 'responses');
      }
    }
  });

  it('names every endpoint of the ledger, each with parameters for its path', async () => {
    const operations = operationsOf(await document());
    const names = operations.map(({ method, path }) => `${method} ${path}`);
    expect(names).to.include.members(LEDGER_ENDPOINTS);
    const paths = Object(await document()).paths;
    for (const { method, path } of operations) {
      const { parameters = [] } = paths[path][method.toLowerCase()];
      const inPath = parameters.filter((parameter: unknown) => Object(parameter).in === 'path');
      expect(
        inPath.map((parameter: unknown) => `{${Object(parameter).name}}`),
        path,
      ).to.deep.equal(path.match(/\{\w+\}/g) ?? []);
    }
  });

  it('serves every operation that it names: none is an unknown address', async () => {
    for (const { method, path } of operationsOf(await document())) {
      if (method === 'GET' && !path.includes('{')) continue;
      const { json } = await world.client.send(method, path.replaceAll(/\{\w+\}/g, 'x'), undefined, {
        key: null,
      });
      expect(json.code, `${method} ${path}`).not.to.be.oneOf([
        'request/not_found',
        'request/method_not_allowed',
      ]);
    }
  });

  it('declares the shape of every answer that has a body', async () => {
    for (const operation of operationsIn(await document())) {
      const { operationId, responses } = Object(operation);
      for (const [status, response] of Object.entries(responses)) {
        if (status === '204' || status === '304') continue;
        const [content] = Object.values<{ schema?: unknown }>(Object(response).content ?? {});
        expect(content?.schema, `${operationId} ${status}`).to.be.an('object');
      }
    }
  });

  it("declares what the rules of other contexts refuse an operator's command with", async () => {
    const { test } = await setUpApp(world.client);
    const userId = await test.newUser();
    const place = `/portal/app/${test.appId}/test`;
    const debit = { currency: 'CHIP', amount: '1', ref: 'debit-1' };
    const refusals = [
      await world.client.post(`${place}/users/${userId}/accounts/debit`, debit),
      await world.client.post(`${place}/sessions/ses_0/settle`, {}),
    ];
    expect(refusals.map(verdict)).to.deep.equal([
      '409 accounts/insufficient_funds',
      '404 ledger/session_not_found',
    ]);
    const operations = operationsOf(await document());
    for (const [index, path] of ['users/{userId}/accounts/debit', 'sessions/{sessionId}/settle'].entries()) {
      const operation = operations.find((one) => one.path === `/portal/app/{appId}/{environment}/${path}`);
      expect(operation?.codes).to.include(refusals[index]?.json.code);
    }
  });

  it('declares no error that the catalogue does not have', async () => {
    for (const { codes, path } of operationsOf(await document())) {
      for (const code of codes) expect(catalog, path).to.have.property(code);
    }
  });
});

function operationsIn(document: Readonly<Record<string, unknown>>): readonly object[] {
  return Object.values(Object(document.paths)).flatMap((methods) => Object.values<object>(Object(methods)));
}
