import { randomBytes } from 'node:crypto';
import { createCommandHandler } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import type { RunningServer } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { createSecretBox, newId, Rejection } from '@coffer/kernel';
import { createAppDirectory, type PastMoment, portalErrors } from '@coffer/portal';
import { NOW, type PortalWorld, portalTemplate, startPortalWorld } from '@coffer/portal/testing';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createAccounts } from './accounts.ts';
import { accountsErrors } from './errors.ts';
import { operatorAccountEndpoints } from './operatorRoutes.ts';

const TOKEN = 'the-operators-token';
const CHIP = { id: 2, code: 'CHIP', decimals: 6, mint: { test: null, live: null } };
const STRANGER = newId('usr');

describe('an account, to its operator', () => {
  let world: PortalWorld;
  let server: RunningServer;
  let appId: string;
  const moments: PastMoment[] = [];

  before(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
    ({ appId } = await world.newApp());
    await world.addCurrency(appId, CHIP);
    const store = createMemoryEventStore();
    server = await serve({
      endpoints: operatorAccountEndpoints({
        directory: createAppDirectory(world.pool, { secretBox: createSecretBox(randomBytes(32)) }),
        accounts: createAccounts({ handler: createCommandHandler({ store }), store }),
        async requireUser({ userId }) {
          if (userId === STRANGER) throw new Rejection('users/not_found');
        },
        clock: () => NOW,
        store,
        async pastPlaceOf(moment) {
          moments.push(moment);
          const head = await store.head();
          return { ordinal: 1, position: head?.position ?? expect.fail('the log is empty') };
        },
      }),
      catalog: {
        ...portalErrors,
        ...accountsErrors,
        'users/not_found': { status: 404, message: 'No such user.' },
      },
      isOperatorToken: (token) => token === TOKEN,
    });
  });
  after(async () => {
    await server.stop(0);
    await world.close();
  });

  const accountsOf = (place: string, userId: string) =>
    `${server.url}/v1/portal/app/${place}/users/${userId}/accounts`;
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  type Body = Readonly<Record<string, unknown>>;
  const bodyOf = async (response: Response): Promise<Body> => response.json() as Promise<Body>;
  const get = async (url: string) => bodyOf(await fetch(url, { headers }));
  const post = async (url: string, body: object) => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const isReplay = response.headers.get('idempotency-replayed') === 'true';
    return { status: response.status, isReplay, body: await bodyOf(response) };
  };

  it('is adjusted once per ref, in amounts as text', async () => {
    const accounts = accountsOf(`${appId}/test`, newId('usr'));
    const amount = (2n ** 64n - 1n).toString();
    await post(`${accounts}/credit`, { currency: 'CHIP', amount, ref: 'r-1' });
    const credit = { currency: 'CHIP', amount, ref: 'r-2', reason: 'a present' };
    const first = await post(`${accounts}/credit`, credit);
    expect(first).to.deep.include({ status: 200, isReplay: false });
    expect(first.body).to.deep.equal({ available: (2n ** 65n - 2n).toString(), held: '0' });
    expect(await post(`${accounts}/credit`, credit)).to.deep.equal({ ...first, isReplay: true });

    const debit = await post(`${accounts}/debit`, { currency: 'CHIP', amount, ref: 'r-3' });
    expect(debit.body).to.deep.equal({ available: amount, held: '0' });
    const more = await post(`${accounts}/debit`, { currency: 'CHIP', amount, ref: 'r-2' });
    expect([more.status, more.body.code]).to.deep.equal([409, 'accounts/idempotency_conflict']);
  });

  it('is shown as it is now, and as it was at a moment of the log', async () => {
    const accounts = accountsOf(`${appId}/test`, newId('usr'));
    await post(`${accounts}/credit`, { currency: 'CHIP', amount: '5', ref: 'r-1' });
    expect(await get(`${accounts}?currency=CHIP`)).to.deep.equal({ available: '5', held: '0' });

    const past = await get(`${accounts}?currency=CHIP&at=1`);
    expect(past).to.include({ available: '5', held: '0', ordinal: 1 });
    expect(moments).to.deep.equal([{ kind: 'ordinal', ordinal: 1 }]);
  });

  it('that does not exist is refused in the order app, environment, currency, user', async () => {
    const rows: readonly [place: string, currency: string, code: string][] = [
      [`${newId('app')}/prod`, 'X', 'portal/app_not_found'],
      [`${appId}/prod`, 'X', 'portal/environment_not_found'],
      [`${appId}/test`, 'X', 'portal/unknown_currency'],
      [`${appId}/test`, 'CHIP', 'users/not_found'],
    ];
    for (const [place, currency, code] of rows) {
      const { code: told } = await get(`${accountsOf(place, STRANGER)}?currency=${currency}`);
      expect(told).to.equal(code);
    }
  });
});
