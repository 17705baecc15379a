/** What players do with their own wallets, over HTTP and on a chain. Source: docs/api.md, Wallets. */

import { type Answer, requireStatus, textOf, verdict } from '@coffer/host/testing';
import { referenceOf } from '@coffer/solana';
import { expect } from 'chai';
import {
  GEM,
  LAMPORTS_PER_SOL,
  moveIdOf,
  newAddress,
  type Player,
  type PlayersOnChain,
  startPlayersOnChain,
  unsignedTransfer,
  withdrawalWith,
} from './testing/index.ts';

const AT_ONCE = 50;
/** What the maker of a token account leaves in it. */
const TOKEN_ACCOUNT_LAMPORTS = 2_039_280n;

describe("a player's wallet", () => {
  let wallets: PlayersOnChain;
  let player: Player;
  before(async () => {
    wallets = await startPlayersOnChain();
  });
  after(() => wallets.stop());
  beforeEach(async () => {
    player = await wallets.newPlayer();
  });

  const path = (rest: string, of = player.wallet.id) => `/wallets/${of}/${rest}`;
  const withdraw = (body: Readonly<Record<string, unknown>>, of = player) =>
    of.post(path('withdraw', of.wallet.id), body);
  const fund = (lamports = LAMPORTS_PER_SOL) => wallets.node.fund(player.wallet.address, lamports);
  const gems = (amount: bigint) => wallets.node.giveTokens(player.wallet.address, GEM.mint, amount);
  const carried = (answer: Answer, status = 'confirmed') =>
    wallets.carriedUntil(`it is ${status}`, withdrawalWith(player, moveIdOf(answer), status));
  const transactionsOf = async (answer: Answer) =>
    wallets.rpc.transactionsOf(referenceOf(moveIdOf(answer)), { limit: 10 });

  it('is the one that the sign-in returned', async () => {
    const { id, address } = player.wallet;
    const me = requireStatus(await player.get('/wallets/me'), 200);
    expect(me.json).to.deep.equal({
      id,
      userId: player.userId,
      address,
      environment: 'test',
      custody: 'operator',
      status: 'active',
      createdAt: me.json.createdAt,
    });
  });

  it("shows at once what anybody has sent there, with the app's codes", async () => {
    const balance = async () => requireStatus(await player.get(path('balance')), 200).json;
    const { id: walletId, address } = player.wallet;
    const native = { symbol: 'SOL', decimals: 9, currency: 'SOL', currencyId: 1 };
    const empty = { walletId, address, environment: 'test', native: { ...native, amount: '0' }, tokens: [] };
    expect(await balance()).to.deep.equal(empty);

    const stranger = newAddress();
    await wallets.node.ensureMint({ address: stranger, decimals: 2 });
    await fund(1_234_567_890n);
    await wallets.node.giveTokens(address, stranger, 18_446_744_073_709_551_615n);
    await gems(42n);
    expect(await balance()).to.deep.equal({
      ...empty,
      native: { ...native, amount: '1234567890' },
      tokens: [
        { mint: GEM.mint, amount: '42', decimals: 6, currency: 'GEM', currencyId: GEM.id },
        {
          mint: stranger,
          amount: '18446744073709551615',
          decimals: 2,
          currency: null,
          currencyId: null,
        },
      ],
    });
  });

  it('sends SOL to anybody: answered as requested, and confirmed when it is final', async () => {
    await fund();
    const toAddress = newAddress();
    const request = { idempotencyKey: 'sol-1', toAddress, amount: '400000000' };
    const asked = requireStatus(await withdraw(request), 200);
    const { moveId, createdAt } = asked.json;
    const requested = {
      idempotencyKey: 'sol-1',
      mint: 'native',
      moveId,
      kind: 'withdraw',
      userId: player.userId,
      currency: 1,
      amount: '400000000',
      toAddress,
      status: 'pending',
      signature: null,
      slot: null,
      error: null,
      createdAt,
      updatedAt: createdAt,
    };
    expect(asked.json).to.deep.equal(requested);
    expect(asked.replayed).to.equal(false);
    const read = () => player.get(path(`withdrawals/${moveId}`));
    expect((await read()).json).to.deep.equal(requested);

    const confirmed = await carried(asked);
    const [landed] = await transactionsOf(asked);
    expect(confirmed).to.deep.equal({
      ...requested,
      status: 'confirmed',
      signature: landed?.signature,
      slot: Number(landed?.slot),
      updatedAt: confirmed.updatedAt,
    });
    expect(await wallets.lamportsOf(toAddress)).to.equal(400_000_000n);
    // The player does not pay the fees.
    expect(await wallets.lamportsOf(player.wallet.address)).to.equal(600_000_000n);

    const again = await withdraw(request);
    expect(again).to.include({ status: 200, replayed: true, text: asked.text });
  });

  it("sends tokens, and the fee payer makes the recipient's account", async () => {
    await gems(1_000n);
    const toAddress = newAddress();
    const byMint = await withdraw({ idempotencyKey: 'a', toAddress, amount: '600', mint: GEM.mint });
    await carried(byMint);
    expect(byMint.json).to.include({ currency: GEM.id, mint: GEM.mint });
    expect(await wallets.tokensOf(toAddress)).to.equal(600n);
    const [landed] = await transactionsOf(byMint);
    const executed = await wallets.rpc.transaction(String(landed?.signature));
    const [feePayer] = executed?.lamports ?? [];
    const paid = (feePayer?.before ?? 0n) - (feePayer?.after ?? 0n) - (executed?.feeLamports ?? 0n);
    expect(paid).to.equal(TOKEN_ACCOUNT_LAMPORTS);

    // By now the recipient has one.
    await carried(await withdraw({ idempotencyKey: 'b', toAddress, amount: '400', currency: GEM.id }));
    expect(await wallets.tokensOf(toAddress)).to.equal(1_000n);
    expect(await wallets.lamportsOf(player.wallet.address)).to.equal(0n);
  });

  it('sends all that its balance shows of a token, in whichever accounts the wallet holds it', async () => {
    await gems(10n);
    await wallets.giveBeside(player.wallet.address, 50n, 40n, 30n, 20n, 1n);
    const balance = requireStatus(await player.get(path('balance')), 200);
    expect(balance.json.tokens).to.deep.equal([
      { mint: GEM.mint, amount: '151', decimals: 6, currency: 'GEM', currencyId: GEM.id },
    ]);
    // One transfer has room for five accounts: the answer says how much it can move.
    const toAddress = newAddress();
    const request = { idempotencyKey: 'beside', toAddress, currency: GEM.id };
    const refused = await withdraw({ ...request, amount: '151' });
    expect(verdict(refused)).to.equal('409 wallets/insufficient_funds');
    expect(refused.json.details).to.deep.equal({ available: '150', amount: '151' });
    await carried(await withdraw({ ...request, amount: '150' }));
    expect(await wallets.tokensOf(toAddress)).to.equal(150n);
    await carried(await withdraw({ ...request, idempotencyKey: 'rest', amount: '1' }));
    expect(await wallets.tokensOf(player.wallet.address)).to.equal(0n);
  });

  it(`sends once what is requested ${AT_ONCE} times at once`, async () => {
    await fund();
    const toAddress = newAddress();
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () =>
        withdraw({ idempotencyKey: 'many', toAddress, amount: '2000000' }),
      ),
    );
    const [first] = answers;
    if (!first) return expect.fail();
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).to.deep.equal(
      new Set([`200 ${first.text}`]),
    );
    expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
    await carried(first);
    expect(await transactionsOf(first)).to.have.length(1);
    expect(await wallets.lamportsOf(toAddress)).to.equal(2_000_000n);
  });

  it('also takes its key as the header Idempotency-Key, and never two that differ', async () => {
    await fund();
    const request = { toAddress: newAddress(), amount: '2000000' };
    const headers = { 'idempotency-key': 'in-the-header' };
    const first = requireStatus(await player.post(path('withdraw'), request, { headers }), 200);
    expect(first.json.idempotencyKey).to.equal('in-the-header');
    for (const again of [
      await withdraw({ ...request, idempotencyKey: 'in-the-header' }),
      await player.post(path('withdraw'), { ...request, idempotencyKey: 'in-the-header' }, { headers }),
    ]) {
      expect(again).to.include({ status: 200, replayed: true, text: first.text });
    }
    const transaction = await unsignedTransfer(wallets.rpc, player.wallet.address, newAddress(), 2_000_000n);
    for (const [operation, body] of [
      ['withdraw', request],
      ['export', {}],
      ['sign', { transaction }],
    ] as const) {
      const both = { ...body, idempotencyKey: 'in-the-body' };
      const refused = await player.post(path(operation), both, { headers });
      expect(verdict(refused), operation).to.equal('400 request/invalid');
    }
    expect(verdict(await withdraw(request))).to.equal('400 request/invalid');
  });

  it('refuses a key that was used with other content, and names the first difference', async () => {
    await fund();
    const request = { idempotencyKey: 'once', toAddress: newAddress(), amount: '2000000' };
    requireStatus(await withdraw(request), 200);
    const rows: readonly (readonly [field: string, other: Readonly<Record<string, unknown>>])[] = [
      ['toAddress', { toAddress: newAddress(), amount: '1', currency: GEM.id }],
      ['amount', { amount: '2000001', currency: GEM.id }],
      ['currency', { currency: GEM.id }],
    ];
    for (const [field, other] of rows) {
      const refused = await withdraw({ ...request, ...other });
      expect(verdict(refused), field).to.equal('409 wallets/idempotency_conflict');
      expect(refused.json.details).to.deep.equal({ key: 'once', field });
    }
    // The key belongs to this wallet alone.
    const other = await wallets.newPlayer();
    await wallets.node.fund(other.wallet.address, LAMPORTS_PER_SOL);
    expect(await withdraw({ ...request, amount: '3000000' }, other)).to.include({
      status: 200,
      replayed: false,
    });
  });

  it('fails for good if the money is gone by then, and says why', async () => {
    await fund();
    const asked = await withdraw({ idempotencyKey: 'late', toAddress: newAddress(), amount: '1000000000' });
    requireStatus(asked, 200);
    // The player signs another transfer and sends it without the service.
    const { address } = player.wallet;
    const transaction = await unsignedTransfer(wallets.rpc, address, newAddress(), 500_000_000n);
    const signed = requireStatus(await player.post(path('sign'), { transaction }), 200);
    const sent = await wallets.rpc.send(Buffer.from(textOf(signed, 'signedTransaction'), 'base64'));
    expect(sent.outcome).to.equal('accepted');
    wallets.node.finalize();

    const failed = await carried(asked, 'failed');
    expect(failed).to.include({ signature: null, slot: null });
    expect(failed.error).to.deep.include({ code: 'moves/insufficient_source_funds' });
    expect(await transactionsOf(asked)).to.deep.equal([]);
    expect(await withdraw({ idempotencyKey: 'late', toAddress: newAddress(), amount: '1' })).to.include({
      status: 409,
    });
  });

  it('refuses what cannot be sent, and keeps no trace of it', async () => {
    await fund();
    const { address } = player.wallet;
    const request = { idempotencyKey: 'k', toAddress: newAddress(), amount: '2000000' };
    const rows: readonly (readonly [refusal: string, other: Readonly<Record<string, unknown>>])[] = [
      ['404 wallets/unknown_currency', { currency: 99 }],
      ['409 wallets/currency_not_on_chain', { currency: 4 }],
      ['400 wallets/invalid_address', { toAddress: address }],
      ['400 wallets/invalid_address', { toAddress: GEM.mint, mint: GEM.mint }],
      ['409 wallets/mint_not_supported', { mint: newAddress() }],
      ['409 wallets/insufficient_funds', { amount: '1000000001' }],
      ['409 wallets/insufficient_funds', { currency: GEM.id, amount: '1' }],
      ['409 wallets/below_rent_minimum', { amount: '1' }],
      ['409 wallets/below_rent_minimum', { amount: '999999999' }],
      ['400 request/invalid', { toAddress: 'nowhere' }],
      ['400 request/invalid', { amount: '0' }],
      ['400 request/invalid', { mint: 'native', currency: 1 }],
      ['400 request/invalid', { amuont: '1' }],
    ];
    const offChain = { id: 4, code: 'POINT', decimals: 0, mint: { test: null, live: null } };
    const { client } = wallets.world;
    requireStatus(await client.post(`/portal/app/${wallets.app.appId}/currencies`, offChain), 200);
    for (const [refusal, other] of rows) {
      expect(verdict(await withdraw({ ...request, ...other })), JSON.stringify(other)).to.equal(refusal);
    }
    expect(await withdraw(request)).to.include({ status: 200, replayed: false });
  });

  it('sends nothing to the app itself', async () => {
    await fund();
    const { client } = wallets.world;
    for (const environment of ['test', 'live']) {
      const listed = await client.get(`/portal/app/${wallets.app.appId}/${environment}/wallets`);
      // Here replies are checked against their schemas, and this one belongs to the endpoint.
      const { items } = requireStatus(listed, 200).json as { items: { address: string }[] };
      expect(items).to.have.length(2);
      for (const { address: toAddress } of items) {
        const refused = await withdraw({ idempotencyKey: toAddress, toAddress, amount: '2000000' });
        expect(verdict(refused)).to.equal('400 wallets/own_address');
      }
    }
  });

  it('is hidden from everybody else: to another player it does not exist', async () => {
    await fund();
    const asked = await withdraw({ idempotencyKey: 'mine', toAddress: newAddress(), amount: '2000000' });
    const transaction = await unsignedTransfer(wallets.rpc, player.wallet.address, newAddress(), 2_000_000n);
    const other = await wallets.newPlayer();
    const request = { idempotencyKey: 'mine', toAddress: newAddress(), amount: '2000000' };
    for (const refused of [
      await other.get(path('balance')),
      await other.post(path('withdraw'), request),
      await other.get(path(`withdrawals/${moveIdOf(asked)}`)),
      await other.get(path('export/preflight')),
      await other.post(path('export'), { idempotencyKey: 'mine' }),
      await other.post(path('sign'), { transaction }),
    ]) {
      expect(verdict(refused)).to.equal('404 wallets/not_found');
    }
    // Nor is what it sent visible by way of another wallet.
    const seen = await other.get(path(`withdrawals/${moveIdOf(asked)}`, other.wallet.id));
    expect(verdict(seen)).to.equal('404 wallets/withdrawal_not_found');
  });

  it("takes a session, and never an app's key", async () => {
    const { secretKey, publishableKey } = wallets.app.test;
    const routes: readonly (readonly ['GET' | 'POST', string])[] = [
      ['GET', '/wallets/me'],
      ['GET', path('balance')],
      ['POST', path('withdraw')],
      ['GET', path('withdrawals/mov_x')],
      ['GET', path('export/preflight')],
      ['POST', path('export')],
      ['POST', path('sign')],
    ];
    for (const [method, route] of routes) {
      for (const key of [secretKey, publishableKey]) {
        const refused = await wallets.world.client.send(method, route, method === 'POST' ? {} : undefined, {
          key,
        });
        expect(verdict(refused), `${method} ${route}`).to.equal('403 auth/wrong_credential_kind');
      }
    }
  });

  it('sends only for a recent sign-in if the app requires one; a repeat is answered all the same', async () => {
    await wallets.settings({ withdrawStepUpSeconds: 60 });
    try {
      await fund();
      const request = { idempotencyKey: 'recent', toAddress: newAddress(), amount: '2000000' };
      const first = requireStatus(await withdraw(request), 200);
      wallets.passTime(61);
      const refused = await withdraw({ ...request, idempotencyKey: 'late' });
      expect(verdict(refused)).to.equal('403 auth/reauthentication_required');
      expect(refused.json.details).to.deep.equal({ maxAgeSeconds: 60 });
      expect(await withdraw(request)).to.include({ status: 200, replayed: true, text: first.text });
      const { address } = player.wallet;
      const transaction = await unsignedTransfer(wallets.rpc, address, newAddress(), 2_000_000n);
      const unsigned = await player.post(path('sign'), { transaction });
      expect(verdict(unsigned)).to.equal('403 auth/reauthentication_required');
      await player.signIn();
      requireStatus(await player.post(path('sign'), { transaction }), 200);
      requireStatus(await withdraw({ ...request, idempotencyKey: 'late' }), 200);
    } finally {
      await wallets.settings({ withdrawStepUpSeconds: null });
    }
  });
});
