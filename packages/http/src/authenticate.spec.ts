import { expect } from 'chai';
import { actorOf } from './authenticate.ts';
import type { CredentialKind, SessionCaller } from './endpoint.ts';
import { ACCESS_TOKEN, OPERATOR_TOKEN, PUBLISHABLE_KEY, SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { ask, bearer, startWorld, type World } from './testing/world.ts';

const KINDS = ['sk', 'pk', 'session', 'operator'] as const;
const TOKENS: Readonly<Record<(typeof KINDS)[number], string>> = {
  sk: SECRET_KEY,
  pk: PUBLISHABLE_KEY,
  session: ACCESS_TOKEN,
  operator: OPERATOR_TOKEN,
};

describe('a credential', () => {
  let world: World;
  before(async () => {
    world = await startWorld({
      endpoints: KINDS.map((credential: CredentialKind) =>
        simpleEndpoint({
          path: `/${credential}`,
          credential,
          handle: ({ caller, context }) => ({ status: 200, body: { caller, actor: context.actor } }),
        }),
      ),
    });
  });
  after(() => world[Symbol.asyncDispose]());

  const call = (kind: string, token: string) => ask(`${world.base}/${kind}`, { headers: bearer(token) });

  it('opens the endpoints of its kind, and elsewhere the answer names the kind wanted', async () => {
    for (const wanted of KINDS) {
      for (const given of KINDS) {
        const { status, body } = await call(wanted, TOKENS[given]);
        expect(status, `${given} for ${wanted}`).to.equal(wanted === given ? 200 : 403);
        if (wanted === given) continue;
        expect(body).to.deep.include({ code: 'auth/wrong_credential_kind', details: { required: wanted } });
      }
    }
  });

  it('of an operator opens what takes portal sessions, as an admin, and only where operators are served', async () => {
    const endpoints = [
      simpleEndpoint({
        path: '/apps/:appId',
        credential: 'portal',
        handle: ({ caller, context }) => ({ status: 200, body: { caller, actor: context.actor } }),
      }),
    ];
    const operatorAt = async (appId: string) => ({ kind: 'portal', appId, role: 'admin' }) as const;
    await using served = await startWorld({ endpoints, operatorAt });
    await using without = await startWorld({ endpoints });
    const headers = { headers: bearer(OPERATOR_TOKEN) };
    const { body } = await ask(`${served.base}/apps/app-1`, headers);
    const caller = { kind: 'portal', appId: 'app-1', role: 'admin' };
    expect(body).to.deep.equal({ caller, actor: 'operator' });
    expect(await ask(`${without.base}/apps/app-1`, headers)).to.include({ status: 403 });
  });

  it('that is unknown is an invalid session where one is taken, otherwise an invalid key', async () => {
    for (const kind of KINDS) {
      for (const token of [
        'nobody',
        'no.such.token',
        'sk_test_nobody',
        'x'.repeat(5_000),
        `${ACCESS_TOKEN}x`,
      ]) {
        const code = kind === 'session' ? 'auth/invalid_session' : 'auth/invalid_key';
        const answer = await call(kind, token);
        expect(answer, `${token.slice(0, 20)} for ${kind}`).to.include({ status: 401, code });
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
      }
    }
  });

  it('of a player tells who, where, and since when', async () => {
    const { body } = await call('session', ACCESS_TOKEN);
    expect(body.actor).to.equal('user:usr_1');
    expect(body.caller).to.deep.equal({
      kind: 'session',
      userId: 'usr_1',
      sessionId: 'sid_1',
      appId: 'app_1',
      scopeId: 'scp_1',
      environment: 'test',
      authenticatedAt: '2026-03-01T12:00:00.000Z',
    } satisfies SessionCaller);
  });

  it('names the actor of the resulting events', () => {
    expect(actorOf(undefined)).to.equal('anonymous');
    expect(actorOf({ kind: 'operator' })).to.equal('operator');
  });
});
