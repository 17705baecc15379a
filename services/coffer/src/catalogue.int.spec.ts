/** What the composed service declares: its errors, its API, and what of it is for pages. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allowSignIn } from '@coffer/auth/testing';
import { requireStatus, setUpApp } from '@coffer/host/testing';
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

/** Everything a page may call: with a publishable key, with a session, or with a refresh token. ADR 0017, Pages. */
const FOR_PAGES = [
  'POST /auth/siws/challenge',
  'POST /auth/siws/verify',
  'POST /auth/messenger/verify',
  'POST /auth/email/initiate',
  'POST /auth/email/verify',
  'POST /auth/refresh',
  'POST /auth/logout',
  'GET /me',
  'GET /wallets/me',
  'GET /wallets/x/balance',
  'POST /wallets/x/sign',
  'POST /wallets/x/withdraw',
  'GET /wallets/x/withdrawals/x',
  'GET /wallets/x/export/preflight',
  'POST /wallets/x/export',
  'GET /referrals/me',
  'POST /referrals/attribute-self',
  'GET /referrals/share-links',
  'GET /referrals/me/history',
];
/** As set by `allowSignIn`. */
const OURS = 'https://game.example';
const FOREIGN = ['https://evil.example', 'null', 'https://game.example.evil.example', 'http://game.example'];

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

  it('lists the schemas of stored events, and serves each as it is in docs/schemas, to anyone', async () => {
    const folder = join(import.meta.dirname, '../../../docs/schemas');
    const stored = async (path: string) => JSON.parse(await readFile(join(folder, path), 'utf8'));
    const { schemas: listed } = Object((await world.client.get('/schemas', { key: null })).json);
    const committed = (await stored('index.json')).schemas;
    expect(listed).to.have.length(committed.length).and.to.have.length.greaterThan(0);
    for (const [index, { path, ...named }] of listed.entries()) {
      const { file, ...expected } = committed[index];
      expect(named).to.deep.equal(expected);
      const answer = requireStatus(await world.client.get(path, { key: null }), 200);
      expect(answer.json).to.deep.equal(await stored(file));
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=300');
      const known = { 'if-none-match': answer.headers.get('etag') ?? '' };
      requireStatus(await world.client.get(path, { key: null, headers: known }), 304);
    }
  });

  it('has no schema of what is not an event', async () => {
    const unknown = ['playSession/BetPlaced/2', 'playSession/BetPlaced/01', 'account/BetPlaced/1', 'a/b/x'];
    for (const path of unknown) {
      const { status, json } = await world.client.get(`/schemas/${path}`, { key: null });
      expect([status, json.code], path).to.deep.equal([404, 'kafka/schema_not_found']);
    }
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

  describe('to pages of other origins', () => {
    before(async () => allowSignIn(world.client, (await setUpApp(world.client)).appId));

    const preflight = (route: string, origin: string) => {
      const [method = '', path = ''] = route.split(' ');
      const headers = {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      };
      return world.client.send('OPTIONS', path, undefined, { key: null, headers });
    };

    it('opens what players send, and nothing that takes a secret key or is for operators', async () => {
      const operations = operationsOf(await document());
      const routes = operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, 'x')}`);
      expect(routes).to.include.members(FOR_PAGES);
      expect(routes).to.include.members(['POST /sessions/verify', 'POST /ledger/bet', 'GET /portal/apps']);
      for (const route of routes) {
        const { status, text, headers } = await preflight(route, OURS);
        if (FOR_PAGES.includes(route)) {
          expect({ status, text }, route).to.deep.equal({ status: 204, text: '' });
          expect(headers.get('access-control-allow-origin'), route).to.equal(OURS);
          expect(headers.get('access-control-allow-methods')).to.equal(route.split(' ')[0]);
          expect(headers.get('access-control-allow-headers')).to.match(/Authorization, Content-Type/);
        } else {
          expect(status, route).to.be.oneOf([404, 405]);
          const shown = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
          expect(shown, route).to.deep.equal([]);
        }
      }
    });

    it('tells those that nobody allows, before they send', async () => {
      for (const route of FOR_PAGES) {
        for (const origin of FOREIGN) {
          const { status, headers } = await preflight(route, origin);
          expect(status, `${route} ${origin}`).to.equal(204);
          expect(headers.get('access-control-allow-origin'), `${route} ${origin}`).to.equal(null);
          expect(headers.get('vary')).to.match(/^Origin\b/);
        }
      }
    });
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
