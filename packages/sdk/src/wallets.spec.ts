import { expect } from 'chai';
import { createPlayerClient, type PlayerClient } from './player.ts';
import { pendingMove, tokens, user, walletSummary } from './testing/bodies.ts';
import {
  answers,
  BASE_URL,
  backendOf,
  failureOf,
  losesTheReply,
  manualTiming,
  refuses,
  rejectionOf,
  type Step,
  scriptedService,
  UUID,
} from './testing/scriptedService.ts';
import { memoryTokenStore } from './tokens.ts';

const NOW = Date.parse('2030-01-01T12:00:00.000Z');
const wallet = { ...walletSummary, userId: 'usr_a', createdAt: '2030-01-01T00:00:00.000Z' };
const refreshes = answers({ ...tokens(2), user });
const sessionIsOver = refuses(401, 'auth/invalid_session');

const move = { ...pendingMove, mint: 'native', kind: 'withdraw', currency: null, toAddress: 'A1' };
const acceptsWithdrawal: Step = ({ body }) => Response.json({ ...move, idempotencyKey: body.idempotencyKey });
const signed = { signedTransaction: btoa('\u0001\u00ff'), signature: 'S1', publicKey: 'W1' };
const exported = { exported: { id: 'wlt_a', address: 'W1', secretKey: 'K1' }, wallet };

async function playerOf(steps: readonly Step[]) {
  const { fetch, sent } = scriptedService(...steps);
  const kept = memoryTokenStore();
  await kept.save(tokens(1));
  const client = createPlayerClient({
    baseUrl: BASE_URL,
    publishableKey: 'pk_test_a',
    tokens: kept,
    fetch,
    timing: manualTiming(),
    wallClockMs: () => NOW,
  });
  return { client, sent };
}

const withdrawal = { walletId: 'wlt_a', toAddress: 'A1', amount: 40n };

describe('a write to the own wallet', () => {
  const transaction = Uint8Array.of(1, 255);
  const writes: readonly (readonly [string, string, Step, (client: PlayerClient) => Promise<unknown>])[] = [
    ['sign', 'sign', answers(signed), ({ wallets }) => wallets.sign({ walletId: 'wlt_a', transaction })],
    ['withdraw', 'withdraw', acceptsWithdrawal, ({ wallets }) => wallets.withdraw(withdrawal)],
    ['export', 'export', answers(exported), ({ wallets }) => wallets.export({ walletId: 'wlt_a' })],
  ];
  for (const [name, step, answer, write] of writes) {
    it(`is sent under one made-up key over all attempts: ${name}`, async () => {
      const { client, sent } = await playerOf([
        losesTheReply,
        refuses(503, 'service/outcome_unknown'),
        answer,
      ]);
      await write(client);
      const keys = new Set(sent.map(({ body }) => body.idempotencyKey));
      expect(keys).to.have.length(1);
      expect(String([...keys][0])).to.match(UUID);
      expect(sent.map(({ path }) => path)).to.deep.equal(Array(3).fill(`/v1/wallets/wlt_a/${step}`));
      expect(sent[0]?.headers.get('authorization')).to.equal('Bearer access-1');
    });

    it(`tells its key when the outcome is unknown: ${name}`, async () => {
      const { client, sent } = await playerOf([losesTheReply]);
      const { outcome, idempotencyKey } = await failureOf(write(client));
      expect(outcome).to.equal('unknown');
      expect(idempotencyKey).to.match(UUID);
      expect(idempotencyKey).to.equal(sent[0]?.body.idempotencyKey);
    });

    it(`goes on under its key with a fresh token where the kept one is no longer good: ${name}`, async () => {
      const { client, sent } = await playerOf([sessionIsOver, refreshes, answer]);
      await write(client);
      const [first, , second] = sent;
      expect(second?.headers.get('authorization')).to.equal('Bearer access-2');
      expect(second?.body).to.deep.equal(first?.body);
    });
  }

  it('keeps an unknown outcome over a fresh token: the first attempt may act yet', async () => {
    const { client } = await playerOf([
      losesTheReply,
      sessionIsOver,
      refreshes,
      refuses(409, 'wallets/insufficient_funds'),
    ]);
    const failure = await failureOf(client.wallets.withdraw({ ...withdrawal, idempotencyKey: 'k1' }));
    expect(failure).to.deep.include({
      code: 'wallets/insufficient_funds',
      outcome: 'unknown',
      idempotencyKey: 'k1',
    });
  });

  it('tells its key also when the session has ended after a lost reply', async () => {
    const ended = refuses(401, 'auth/invalid_refresh_token');
    const open = await playerOf([losesTheReply, sessionIsOver, ended]);
    const failure = await failureOf(open.client.wallets.withdraw({ ...withdrawal, idempotencyKey: 'k1' }));
    expect(failure).to.deep.include({ outcome: 'unknown', idempotencyKey: 'k1' });
    const refused = await playerOf([sessionIsOver, ended]);
    expect((await failureOf(refused.client.wallets.withdraw(withdrawal))).code).to.equal(
      'auth/invalid_refresh_token',
    );
  });
});

describe('the own wallet', () => {
  it('is the active one', async () => {
    const { client, sent } = await playerOf([answers(wallet)]);
    expect(await client.wallets.me()).to.deep.equal(wallet);
    expect(sent[0]).to.deep.include({ method: 'GET', path: '/v1/wallets/me' });
  });

  it('shows what it holds', async () => {
    const native = { symbol: 'SOL', amount: '7', decimals: 9, currency: 'SOL', currencyId: 1 };
    const token = {
      mint: 'M1',
      amount: '18446744073709551615',
      decimals: 6,
      currency: null,
      currencyId: null,
    };
    const balance = { walletId: 'wlt_a', address: 'W1', environment: 'test', native, tokens: [token] };
    const { client, sent } = await playerOf([answers(balance)]);
    expect(await client.wallets.balance('wlt_a')).to.deep.equal({
      ...balance,
      native: { ...native, amount: 7n },
      tokens: [{ ...token, amount: 18446744073709551615n }],
    });
    expect(sent[0]?.path).to.equal('/v1/wallets/wlt_a/balance');
  });

  it('signs bytes and answers bytes', async () => {
    const { client, sent } = await playerOf([answers(signed)]);
    const transaction = Uint8Array.of(0, 1, 128, 255);
    const request = { walletId: 'wlt_a', transaction, idempotencyKey: 'k1' };
    expect(await client.wallets.sign(request)).to.deep.equal({
      signedTransaction: Uint8Array.of(1, 255),
      signature: 'S1',
      publicKey: 'W1',
      replayed: false,
    });
    expect(sent[0]?.body).to.deep.equal({
      transaction: Buffer.from(transaction).toString('base64'),
      idempotencyKey: 'k1',
    });
    const { client: other } = await playerOf([answers({ ...signed, signedTransaction: '!' })]);
    expect(await failureOf(other.wallets.sign(request))).to.deep.include({
      code: 'sdk/unexpected_answer',
      details: { path: 'signedTransaction' },
      idempotencyKey: 'k1',
    });
  });

  it('sends a currency, a mint, or neither', async () => {
    const { client, sent } = await playerOf([acceptsWithdrawal]);
    const answer = await client.wallets.withdraw({ ...withdrawal, idempotencyKey: 'k1' });
    expect(answer).to.deep.equal({ ...move, idempotencyKey: 'k1', amount: 40n, replayed: false });
    await client.wallets.withdraw({ ...withdrawal, idempotencyKey: 'k2', currency: 2 });
    await client.wallets.withdraw({ ...withdrawal, idempotencyKey: 'k3', mint: 'M1' });
    const body = { toAddress: 'A1', amount: '40' };
    expect(sent.map((request) => request.body)).to.deep.equal([
      { ...body, idempotencyKey: 'k1' },
      { ...body, idempotencyKey: 'k2', currency: 2 },
      { ...body, idempotencyKey: 'k3', mint: 'M1' },
    ]);
  });

  it('tells what became of a withdrawal', async () => {
    const failed = {
      ...move,
      idempotencyKey: 'k1',
      status: 'failed',
      error: { code: 'moves/never_landed', message: 'No.' },
    };
    const { client, sent } = await playerOf([answers(failed)]);
    expect(await client.wallets.withdrawal('wlt_a', 'mov_a')).to.deep.equal({ ...failed, amount: 40n });
    expect(sent[0]?.path).to.equal('/v1/wallets/wlt_a/withdrawals/mov_a');
    for (const id of ['', '..']) {
      expect(await rejectionOf(client.wallets.withdrawal('wlt_a', id))).to.be.instanceOf(TypeError);
    }
  });

  it('tells why it cannot be exported', async () => {
    const floor = [{ currency: 'SOL', minimum: '10', balance: '9' }];
    const { client, sent } = await playerOf([answers({ allowed: false, reasons: ['below_floor'], floor })]);
    expect(await client.wallets.exportPreflight('wlt_a')).to.deep.equal({
      allowed: false,
      reasons: ['below_floor'],
      floor: [{ currency: 'SOL', minimum: 10n, balance: 9n }],
    });
    expect(sent[0]?.path).to.equal('/v1/wallets/wlt_a/export/preflight');
  });

  it('hands its key out in clear, or sealed for whoever asks', async () => {
    const sealed = { exported: { id: 'wlt_a', address: 'W1', sealedSecretKey: 'B64' }, wallet };
    const { client, sent } = await playerOf([answers(exported), answers(sealed)]);
    const clear = await client.wallets.export({ walletId: 'wlt_a', idempotencyKey: 'k1' });
    expect(clear).to.deep.equal({
      exported: { id: 'wlt_a', address: 'W1', secretKey: 'K1', sealedSecretKey: undefined },
      wallet,
      idempotencyKey: 'k1',
      replayed: false,
    });
    const request = { walletId: 'wlt_a', idempotencyKey: 'k2', recipientPublicKey: 'X1' };
    expect((await client.wallets.export(request)).exported).to.deep.include({
      secretKey: undefined,
      sealedSecretKey: 'B64',
    });
    expect(sent.map(({ body }) => body)).to.deep.equal([
      { idempotencyKey: 'k1' },
      { idempotencyKey: 'k2', recipientPublicKey: 'X1' },
    ]);
  });
});

describe('a signature that a backend asks for', () => {
  it('is asked for a player, with the secret key, under one key', async () => {
    const { client, sent } = backendOf([losesTheReply, answers(signed)]);
    const answer = await client.wallets.sign({ userId: 'usr_a', transaction: Uint8Array.of(1) });
    expect(answer.signedTransaction).to.deep.equal(Uint8Array.of(1, 255));
    const [first, second] = sent;
    expect(first).to.deep.include({ path: '/v1/wallets/sign' });
    expect(first?.headers.get('authorization')).to.equal('Bearer sk_test_a');
    expect(first?.body).to.deep.include({ userId: 'usr_a', transaction: 'AQ==' });
    expect(second?.body).to.deep.equal(first?.body);
  });
});
