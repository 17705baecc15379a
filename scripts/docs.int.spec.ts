/**
 * Every endpoint that the documents name is called on a running service, which must not answer that it is
 * unknown.
 */

import { createClient } from '@coffer/host/testing';
import { expect } from 'chai';
import { startWorld, type World } from '../services/coffer/src/testing/world.ts';
import { ROOT } from './docs/contexts.ts';
import { documentsOf, endpointsIn } from './docs/names.ts';
import { file } from './tidy/rule.ts';
import { readTree } from './tidy/tree.ts';

const ABSENT = ['request/not_found', 'request/method_not_allowed'];

describe('every document', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.stop());

  /** Those of these endpoints that exist neither below /v1 nor at the root. */
  const absent = async (documents: Parameters<typeof endpointsIn>[0]) => {
    const root = createClient({ baseUrl: world.url, operatorToken: '' });
    const places = Map.groupBy(endpointsIn(documents), ({ endpoint }) => endpoint);
    const found: string[] = [];
    for (const [endpoint, [first]] of places) {
      const [method = '', path = ''] = endpoint.split(' ');
      const answers = await Promise.all(
        [world.client, root].map((client) =>
          client.send(method, path.replaceAll(':', 'x'), undefined, { key: null }),
        ),
      );
      if (answers.every(({ json }) => ABSENT.includes(String(json.code)))) {
        found.push(`${first?.place}  ${endpoint}`);
      }
    }
    return found;
  };

  it('names only endpoints that exist', async () => {
    // The examples serve their own endpoints.
    const documents = documentsOf(readTree(ROOT)).filter(({ path }) => !path.startsWith('docs/examples/'));
    expect(await absent(documents)).to.deep.equal([]);
  });

  it('is searched for endpoints, with the method', async () => {
    const text =
      '`POST /ledger/bet`, `GET /v1/errors`, `GET /readyz`.\n| GET /ledger/bet | `POST /wallets/:walletId/bury` |';
    expect(await absent([file('docs/api.md', text)])).to.deep.equal([
      'docs/api.md:2  GET /ledger/bet',
      'docs/api.md:2  POST /wallets/:/bury',
    ]);
  });
});
