import { expect } from 'chai';
import { type BackendClient, createBackendClient } from './backend.ts';
import { ownsWallet } from './identity.ts';
import type { Fetch } from './platform.ts';
import {
  answers,
  BASE_URL,
  backendOf,
  failureOf,
  hangs,
  losesTheReply,
  refuses,
  rejectionOf,
  type SentRequest,
  type Step,
  UUID,
} from './testing/scriptedService.ts';

/** Answers a bet as the service does. */
const accepts: Step = ({ body }) => {
  const { sessionId, transactionUuid, amount } = body;
  return Response.json({ sessionId, transactionUuid, amount, balance: '60', status: 'accepted' });
};

const bet = { sessionId: 'ses_a', amount: 40n };
const uuidsOf = (sent: readonly SentRequest[]) => sent.map(({ body }) => body.transactionUuid);

describe('a write of the backend client', () => {
  it('carries the secret key, JSON, and amounts as decimal text', async () => {
    const { client, sent } = backendOf([accepts]);
    const answer = await client.ledger.bet({
      ...bet,
      amount: 2n ** 64n - 1n,
      roundId: 'round-1',
      transactionUuid: 't1',
    });
    expect(answer).to.deep.equal({
      sessionId: 'ses_a',
      transactionUuid: 't1',
      amount: 18446744073709551615n,
      balance: 60n,
      status: 'accepted',
      replayed: false,
    });
    expect(sent).to.have.length(1);
    expect(sent[0]?.path).to.equal('/v1/ledger/bet');
    expect(sent[0]?.headers.get('authorization')).to.equal('Bearer sk_test_a');
    expect(sent[0]?.headers.get('content-type')).to.equal('application/json');
    expect(sent[0]?.body).to.deep.equal({
      sessionId: 'ses_a',
      amount: '18446744073709551615',
      roundId: 'round-1',
      transactionUuid: 't1',
    });
  });

  it('is sent under one made-up uuid over all attempts', async () => {
    const { client, sent } = backendOf([
      losesTheReply,
      refuses(503, 'service/outcome_unknown'),
      refuses(429, 'request/rate_limited'),
      accepts,
    ]);
    const { transactionUuid } = await client.ledger.bet(bet);
    expect(transactionUuid).to.match(UUID);
    expect(uuidsOf(sent)).to.deep.equal(Array(4).fill(transactionUuid));
  });

  it('is another write the next time', async () => {
    const { client } = backendOf([accepts]);
    const [first, second] = [await client.ledger.bet(bet), await client.ledger.bet(bet)];
    expect(first.transactionUuid).not.to.equal(second.transactionUuid);
  });

  it('keeps its uuid and its request id when the caller gave the first', async () => {
    const { client, sent } = backendOf([losesTheReply, accepts]);
    await client.ledger.bet({ ...bet, transactionUuid: 'mine' });
    expect(uuidsOf(sent)).to.deep.equal(['mine', 'mine']);
    const [first, second] = sent.map(({ headers }) => headers.get('x-request-id'));
    expect(first).to.match(UUID);
    expect(second).to.equal(first);
  });

  it('says that the service had acted before', async () => {
    const { client } = backendOf([
      losesTheReply,
      async (request, signal) => {
        const response = await accepts(request, signal);
        response.headers.set('idempotency-replayed', 'true');
        return response;
      },
    ]);
    expect((await client.ledger.bet(bet)).replayed).to.equal(true);
  });

  const writes: readonly (readonly [string, (client: BackendClient) => Promise<unknown>])[] = [
    ['open', ({ ledger }) => ledger.open({ userId: 'u', gameCode: 'g', currency: 'CHIP', lockAmount: 0n })],
    ['bet', ({ ledger }) => ledger.bet(bet)],
    ['win', ({ ledger }) => ledger.win({ ...bet, betTransactionUuid: 'b' })],
    ['rollback', ({ ledger }) => ledger.rollback({ sessionId: 's', betTransactionUuid: 'b' })],
    ['settle', ({ ledger }) => ledger.settle({ sessionId: 's' })],
  ];
  for (const [name, write] of writes) {
    it(`has a uuid, and tells it when the outcome is unknown: ${name}`, async () => {
      const { client, sent } = backendOf([losesTheReply]);
      const { transactionUuids, outcome } = await failureOf(write(client));
      expect(outcome).to.equal('unknown');
      expect(transactionUuids).to.have.length(1);
      expect(transactionUuids[0]).to.match(UUID);
      expect(new Set(uuidsOf(sent))).to.deep.equal(new Set(transactionUuids));
    });
  }
});

describe('a batch of the backend client', () => {
  const operations = [
    { op: 'bet', amount: 40n },
    { op: 'win', amount: 1n, betTransactionUuid: 'b' },
    { op: 'rollback', betTransactionUuid: 'c', transactionUuid: 'r' },
  ] as const;

  it('has a uuid for each write, the same over all attempts', async () => {
    const { client, sent } = backendOf([losesTheReply, losesTheReply], { deadlineMs: 150 });
    const { transactionUuids } = await failureOf(client.ledger.batch({ sessionId: 's', operations }));
    expect(new Set(transactionUuids)).to.have.length(3);
    expect(transactionUuids[2]).to.equal('r');
    expect(sent).to.have.length(2);
    expect(sent[0]?.body).to.deep.equal(sent[1]?.body);
  });

  it('answers each write in its place, a refusal as an error', async () => {
    const write = { sessionId: 's', transactionUuid: 't', balance: '1', betTransactionUuid: 'b' };
    const details = { balance: '1', amount: '40' };
    const results = [
      { status: 409, body: { code: 'ledger/insufficient_balance', message: 'No.', details } },
      { status: 200, body: { ...write, amount: '1', status: 'accepted' } },
      { status: 200, body: { ...write, amount: '0', status: 'remembered' } },
    ];
    const { client } = backendOf([answers({ results })]);
    const [refused, won, rolledBack] = await client.ledger.batch({ sessionId: 's', operations });
    if (refused?.ok !== false) expect.fail('The bet was refused.');
    expect(refused.error.code).to.equal('ledger/insufficient_balance');
    expect(refused.error.details).to.deep.equal(details);
    expect(won).to.deep.include({ op: 'win', ok: true });
    expect(won?.ok && won.answer.amount).to.equal(1n);
    expect(rolledBack?.ok && rolledBack.answer.status).to.equal('remembered');
  });
});

describe('retrying', () => {
  for (const [status, code] of [
    [400, 'request/invalid'],
    [401, 'auth/invalid_key'],
    [403, 'users/suspended'],
    [404, 'ledger/session_not_found'],
    [409, 'ledger/insufficient_balance'],
    [500, 'service/internal'],
  ] as const) {
    it(`ends at ${status} ${code}`, async () => {
      const { client, sent, timing } = backendOf([
        refuses(status, code, { a: '1' }, { 'x-request-id': 'r1' }),
      ]);
      const failure = await failureOf(client.ledger.bet({ ...bet, transactionUuid: 't1' }));
      expect(failure).to.deep.include({
        code,
        status,
        details: { a: '1' },
        requestId: 'r1',
        retryable: false,
      });
      expect(failure.message).to.equal(`It is ${code}.`);
      expect(failure.outcome).to.equal(status === 500 ? 'unknown' : 'refused');
      expect(sent).to.have.length(1);
      expect(timing.slept).to.deep.equal([]);
    });
  }

  for (const [title, step] of [
    ['429', refuses(429, 'request/rate_limited')],
    ['503', refuses(503, 'service/overloaded')],
    ['a gateway that got no answer', () => new Response('<html>', { status: 502 })],
    ['a broken connection', losesTheReply],
  ] as const) {
    it(`continues after ${title}`, async () => {
      const { client, sent } = backendOf([step, accepts]);
      await client.ledger.bet(bet);
      expect(sent).to.have.length(2);
    });
  }

  it('gives up on an attempt that is not answered in its time', async () => {
    const { client, sent } = backendOf([hangs, accepts], { attemptTimeoutMs: 5 });
    await client.ledger.bet(bet);
    expect(sent).to.have.length(2);
  });

  it('waits twice as long after each attempt, up to the longest, with chance in half of it', async () => {
    const waits = async (random: number) => {
      const { client, timing } = backendOf(
        [losesTheReply],
        { firstDelayMs: 200, longestDelayMs: 1_000, deadlineMs: 5_000 },
        random,
      );
      await failureOf(client.ledger.bet(bet));
      return timing.slept.slice(0, 5);
    };
    expect(await waits(0)).to.deep.equal([100, 200, 400, 500, 500]);
    expect(await waits(0.5)).to.deep.equal([150, 300, 600, 750, 750]);
  });

  it('waits at least as long as the service asks for', async () => {
    const { client, timing } = backendOf([
      refuses(503, 'service/overloaded', {}, { 'retry-after': '7' }),
      refuses(429, 'request/rate_limited', { retryAfterSeconds: 3 }),
      accepts,
    ]);
    await client.ledger.bet(bet);
    expect(timing.slept).to.deep.equal([7_100, 3_200]);
  });

  it('ends before a wait that would pass the deadline, with what was answered last', async () => {
    const { client, sent, timing } = backendOf([
      refuses(503, 'service/overloaded'),
      refuses(429, 'request/rate_limited', {}, { 'retry-after': '60' }),
    ]);
    const failure = await failureOf(client.ledger.bet(bet));
    expect(failure).to.deep.include({ code: 'request/rate_limited', retryable: true, retryAfterMs: 60_000 });
    expect(failure.outcome, 'both say that nothing was done').to.equal('refused');
    expect(sent).to.have.length(2);
    expect(timing.slept).to.deep.equal([100]);
  });

  it('keeps to the deadline of the call', async () => {
    const { client, sent } = backendOf([losesTheReply], { firstDelayMs: 200 });
    const { code, status } = await failureOf(client.ledger.bet(bet, { deadlineMs: 350 }));
    expect({ code, status }).to.deep.equal({ code: 'sdk/no_answer', status: 0 });
    expect(sent, 'at 0, 100 and 300 ms').to.have.length(3);
  });

  it('leaves the outcome unknown when a refusal follows a lost reply', async () => {
    const { client } = backendOf([losesTheReply, refuses(409, 'ledger/insufficient_balance')]);
    const failure = await failureOf(client.ledger.bet({ ...bet, transactionUuid: 't1' }));
    expect(failure).to.deep.include({ code: 'ledger/insufficient_balance', outcome: 'unknown' });
    expect(failure.transactionUuids).to.deep.equal(['t1']);
    expect(failure.message).to.equal('It is ledger/insufficient_balance.');
  });

  it('ends with the reason of the signal', async () => {
    const controller = new AbortController();
    const reason = new Error('The game is over.');
    const { client, sent } = backendOf([
      (request, signal) => {
        controller.abort(reason);
        return hangs(request, signal);
      },
    ]);
    expect(await rejectionOf(client.ledger.bet(bet, { signal: controller.signal }))).to.equal(reason);
    expect(await rejectionOf(client.ledger.bet(bet, { signal: controller.signal }))).to.equal(reason);
    expect(sent, 'the second was not even begun').to.have.length(1);
  });
});

describe('the backend client', () => {
  it('takes no other key than a secret one', () => {
    for (const secretKey of ['pk_test_a', 'sk_prod_a', '']) {
      expect(() => createBackendClient({ baseUrl: BASE_URL, secretKey }), secretKey).to.throw(TypeError);
    }
  });

  it('takes no base address but one that ends with /v1, on which it builds', async () => {
    const at = (baseUrl: string, fetch: Fetch = globalThis.fetch) =>
      createBackendClient({ baseUrl, secretKey: 'sk_test_a', fetch });
    for (const baseUrl of [
      'http://a',
      'http://a/',
      'http://a/v1x',
      'http://a/v1?b',
      'a/v1',
      'ftp://a/v1',
      '',
    ]) {
      expect(() => at(baseUrl), baseUrl).to.throw(TypeError, '/v1');
    }
    const asked: string[] = [];
    for (const baseUrl of ['http://a/v1', 'http://a/v1/', 'https://a/coffer/v1']) {
      const spy = async (url: string) => {
        asked.push(url);
        return Response.json({ items: [] });
      };
      await at(baseUrl, spy).users.accounts('usr_a');
    }
    expect(asked).to.deep.equal(
      ['http://a', 'http://a', 'https://a/coffer'].map((a) => `${a}/v1/users/usr_a/accounts`),
    );
  });

  it('never sends an invalid amount', async () => {
    const { client, sent } = backendOf([accepts]);
    for (const amount of [-1n, 2n ** 64n]) {
      expect(await rejectionOf(client.ledger.bet({ ...bet, amount }))).to.be.instanceOf(RangeError);
    }
    expect(sent).to.have.length(0);
  });

  it('sends no id that a URL would take for a step elsewhere', async () => {
    const { client, sent } = backendOf([answers({})]);
    for (const id of ['', '.', '..']) {
      expect(await rejectionOf(client.ledger.session(id)), id).to.be.instanceOf(TypeError);
    }
    await rejectionOf(client.users.accounts('../keys?x'));
    expect(sent.map(({ path }) => path)).to.deep.equal(['/v1/users/..%2Fkeys%3Fx/accounts']);
  });

  it('takes an answer that is not of Coffer for an error, with the place in it', async () => {
    for (const [step, path] of [
      [
        answers({ items: [{ currency: 'CHIP', currencyId: 2, available: '01', held: '0' }] }),
        'items[0].available',
      ],
      [
        answers({ items: [{ currency: 'CHIP', currencyId: 2, available: 1, held: '0' }] }),
        'items[0].available',
      ],
      [answers({ items: [{ currency: 'CHIP', available: '1', held: '0' }] }), 'items[0].currencyId'],
      [answers({ items: {} }), 'items'],
      [answers([]), 'the body'],
    ] as const) {
      const failure = await failureOf(backendOf([step]).client.users.accounts('usr_a'));
      expect(failure).to.deep.include({ code: 'sdk/unexpected_answer', details: { path } });
    }
    const page = await failureOf(backendOf([() => new Response('<html>')]).client.ledger.bet(bet));
    expect(page).to.deep.include({ code: 'sdk/unexpected_answer', status: 200, outcome: 'unknown' });
  });

  it('does not take a write for undone because its answer could not be read', async () => {
    const { client } = backendOf([answers({ status: 'accepted' }, 200, { 'x-request-id': 'r1' })]);
    const failure = await failureOf(client.ledger.bet({ ...bet, transactionUuid: 't1' }));
    expect(failure).to.deep.include({ code: 'sdk/unexpected_answer', outcome: 'unknown', requestId: 'r1' });
    expect(failure.transactionUuids).to.deep.equal(['t1']);
  });

  it('reads figures wider than an amount, and fields it does not know', async () => {
    const account = {
      currency: 'CHIP',
      currencyId: 2,
      available: '99999999999999999999999',
      held: '0',
      extra: 1,
    };
    const { client } = backendOf([answers({ items: [account] })]);
    expect(await client.users.accounts('usr_a')).to.deep.equal([
      { currency: 'CHIP', currencyId: 2, available: 99999999999999999999999n, held: 0n },
    ]);
  });

  it('hands discrepancies out as an answer', async () => {
    const discrepancies = [{ check: 'accounts', subject: 'a', expected: null, actual: '1' }];
    const details = { position: '9', checks: [{ name: 'accounts', ok: false, examined: 3 }], discrepancies };
    const { client, sent } = backendOf([refuses(409, 'ledger/integrity_failed', details)]);
    expect(await client.ledger.reconcile()).to.deep.equal({ ok: false, ...details });
    expect(sent[0]?.method).to.equal('GET');
  });

  it('verifies the session of a player', async () => {
    const wallet = { id: 'wlt_a', address: 'W1', environment: 'test', custody: 'operator', status: 'active' };
    const identity = {
      id: 'idn_a',
      type: 'email',
      externalId: 'a@b.example',
      profile: { email: 'a@b.example' },
    };
    const verified = {
      userId: 'usr_a',
      appId: 'app_a',
      environment: 'test',
      authMethod: 'email',
      walletAddress: 'W1',
      wallets: [wallet],
      identities: [identity],
    };
    const { client, sent } = backendOf([answers(verified)]);
    expect(await client.sessions.verify('token')).to.deep.equal(verified);
    expect(sent[0]?.path).to.equal('/v1/sessions/verify');
    expect(sent[0]?.body).to.deep.equal({ sessionToken: 'token' });
    const without = backendOf([answers({ ...verified, walletAddress: null, wallets: [] })]);
    expect((await without.client.sessions.verify('token')).walletAddress).to.equal(null);
  });

  it('believes an address only where the player holds it now', () => {
    const wallets = [
      { id: 'wlt_a', address: 'W1', environment: 'test', custody: 'operator', status: 'active' },
      { id: 'wlt_b', address: 'W0', environment: 'test', custody: 'operator', status: 'exported' },
    ] as const;
    const owned = ['W1', 'W0', 'W9'].filter((address) =>
      ownsWallet({ walletAddress: null, wallets }, address),
    );
    expect(owned).to.deep.equal(['W1']);
    expect(ownsWallet({ walletAddress: 'W2', wallets }, 'W2')).to.equal(true);
  });
});
