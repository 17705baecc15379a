/** The SDK's calls about money on the chain, against the service over HTTP and the embedded chain. */

import { generateKeyPairSync } from 'node:crypto';
import { allowSignIn, newWallet } from '@coffer/auth/testing';
import { requireStatus, setUpApp, startContexts, type TestApp } from '@coffer/host/testing';
import { buildTransfer } from '@coffer/solana';
import { testWallet } from '@coffer/solana/testing';
import { eventually, PATIENCE_MS } from '@coffer/testing';
import { startAppsOnChain } from '@coffer/treasury/testing';
import { WALLET_CONTEXTS, walletsGiven } from '@coffer/wallets/testing';
import { expect } from 'chai';
import {
  CofferError,
  createBackendClient,
  createPlayerClient,
  type Fetch,
  type PlayerClient,
  type Wallet,
  type WalletMove,
} from './index.ts';
import { failureOf } from './testing/scriptedService.ts';

const SOL = 1;
const ONE_SOL = 1_000_000_000n;

async function startOnChain() {
  const { masterKeys } = walletsGiven();
  return startAppsOnChain(
    (chains) => startContexts({ contexts: WALLET_CONTEXTS, given: walletsGiven({ chains, masterKeys }) }),
    // A blockhash lives for 150 of them: long enough for a transaction that is signed over HTTP.
    { masterKeys, slotMs: 40 },
  );
}

describe('the SDK with money on the chain, against the service', () => {
  let service: Awaited<ReturnType<typeof startOnChain>>;
  let app: TestApp;

  before(async () => {
    service = await startOnChain();
    const { world } = service;
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
  });
  after(() => service?.stop());

  /** Loses the answer to the first attempt of each call. */
  const losesFirstAnswers = (): Fetch => {
    const seen = new Set<string>();
    return async (url, init) => {
      const response = await fetch(url, init);
      if (seen.has(url)) return response;
      seen.add(url);
      await response.arrayBuffer();
      throw new TypeError('terminated');
    };
  };
  const backend = (ownFetch: Fetch = fetch) =>
    createBackendClient({
      baseUrl: service.world.client.baseUrl,
      secretKey: app.test.secretKey,
      fetch: ownFetch,
      retry: { firstDelayMs: 1 },
    });

  /** A signed-in player whose wallet has this many lamports. */
  async function playerWith(lamports: bigint): Promise<{ page: PlayerClient; wallet: Wallet }> {
    const page = createPlayerClient({
      baseUrl: service.world.client.baseUrl,
      publishableKey: app.test.publishableKey,
      retry: { firstDelayMs: 1 },
    });
    await page.signInWithWallet(newWallet());
    const wallet = await page.wallets.me();
    if (lamports > 0n) await service.fund(wallet.address, lamports);
    return { page, wallet };
  }
  const solOf = async (userId: string) =>
    (await backend().users.accounts(userId)).find(({ currencyId }) => currencyId === SOL);
  const settled = (ref: string) => backend().treasury.settled(ref, { pollMs: 20, deadlineMs: PATIENCE_MS });

  it('deposits, shows where everything is, and cashes out', async () => {
    const { page, wallet } = await playerWith(2n * ONE_SOL);
    const { userId } = wallet;
    const { native, tokens } = await page.wallets.balance(wallet.id);
    expect(native).to.deep.equal({
      symbol: 'SOL',
      amount: 2n * ONE_SOL,
      decimals: 9,
      currency: 'SOL',
      currencyId: SOL,
    });
    expect(tokens).to.deep.equal([]);

    const requested = await backend().treasury.deposit({ userId, currency: SOL, amount: ONE_SOL });
    expect(requested).to.deep.include({
      kind: 'deposit',
      status: 'pending',
      signature: null,
      replayed: false,
    });
    const deposit = await settled(requested.ref);
    expect(deposit).to.deep.include({ status: 'confirmed', amount: ONE_SOL, error: null });
    expect(deposit.signature).to.be.a('string');
    expect(deposit.slot).to.be.a('number');
    expect(await solOf(userId)).to.deep.include({ available: ONE_SOL, held: 0n });
    // The network fee was paid for the player.
    expect((await page.wallets.balance(wallet.id)).native.amount).to.equal(ONE_SOL);

    const { ref } = await backend().treasury.withdraw({ userId, currency: SOL, amount: ONE_SOL / 4n });
    expect((await settled(ref)).status).to.equal('confirmed');
    const { treasury, ...balance } = await backend().treasury.balance({ userId, currency: SOL });
    expect(balance).to.deep.include({
      deposited: ONE_SOL,
      withdrawn: ONE_SOL / 4n,
      net: (ONE_SOL * 3n) / 4n,
      available: (ONE_SOL * 3n) / 4n,
    });
    expect(treasury.surplus).to.equal(0n);
    // The lists may not have seen the end of the cash-out yet: then it is in both of these.
    expect(treasury.onChain + treasury.inFlight).to.equal(treasury.liabilities);
  });

  it('moves once, though every first answer is lost', async () => {
    const { wallet } = await playerWith(ONE_SOL);
    const request = { userId: wallet.userId, currency: SOL, amount: ONE_SOL / 2n };
    const { ref, replayed } = await backend(losesFirstAnswers()).treasury.deposit(request);
    expect(replayed).to.equal(true);
    expect((await settled(ref)).status).to.equal('confirmed');
    expect(await solOf(wallet.userId)).to.deep.include({ available: ONE_SOL / 2n });
    expect(await service.lamportsOf(wallet.address)).to.equal(ONE_SOL / 2n);
  });

  it('hands out refusals, with the key of the call', async () => {
    const { page, wallet } = await playerWith(0n);
    const { userId } = wallet;
    const deposit = backend().treasury.deposit({ userId, currency: SOL, amount: ONE_SOL, ref: 'too-much' });
    expect(await failureOf(deposit)).to.deep.include({
      code: 'treasury/insufficient_wallet_funds',
      outcome: 'refused',
      ref: 'too-much',
    });
    expect(await failureOf(settled('too-much'))).to.include({ code: 'treasury/move_not_found', status: 404 });
    const toAddress = testWallet('anybody').address;
    const withdraw = page.wallets.withdraw({ walletId: wallet.id, toAddress, amount: ONE_SOL });
    expect((await failureOf(withdraw)).code).to.equal('wallets/insufficient_funds');
    const { wallet: stranger } = await playerWith(0n);
    expect((await failureOf(page.wallets.balance(stranger.id))).code).to.equal('wallets/not_found');
  });

  it('sends from the own wallet to any address', async () => {
    const { page, wallet } = await playerWith(ONE_SOL);
    const toAddress = testWallet(`friend of ${wallet.id}`).address;
    const request = { walletId: wallet.id, toAddress, amount: ONE_SOL / 2n };
    const requested = await page.wallets.withdraw({ ...request, idempotencyKey: 'gift' });
    expect(requested).to.deep.include({ idempotencyKey: 'gift', mint: 'native', toAddress, replayed: false });
    expect((await page.wallets.withdraw({ ...request, idempotencyKey: 'gift' })).replayed).to.equal(true);
    const sent = await eventually('the withdrawal has ended', async (): Promise<WalletMove | undefined> => {
      const move = await page.wallets.withdrawal(wallet.id, requested.moveId);
      return move.status === 'confirmed' || move.status === 'failed' ? move : undefined;
    });
    expect(sent.status).to.equal('confirmed');
    expect(await service.lamportsOf(toAddress)).to.equal(ONE_SOL / 2n);
    expect(await service.lamportsOf(wallet.address)).to.equal(ONE_SOL / 2n);
  });

  it("signs with the player's wallet, asked by the player and, once that is switched on, by the backend", async () => {
    const { page, wallet } = await playerWith(ONE_SOL);
    const friend = testWallet('a friend who pays the fees');
    await service.fund(friend.address, ONE_SOL);
    const unsigned = async (amount: bigint) => {
      const { message, withSignatures } = buildTransfer({
        feePayer: friend.address,
        from: wallet.address,
        to: friend.address,
        mint: 'native',
        amount,
        moveId: `mov_${amount}`,
        blockhash: (await service.rpc.latestBlockhash()).blockhash,
        priority: { unitLimit: 100_000, microLamports: 0n },
        createsAccount: false,
      });
      return withSignatures([friend.sign(message), new Uint8Array(64)]);
    };

    const request = { walletId: wallet.id, transaction: await unsigned(1_000n), idempotencyKey: 'sign-1' };
    const signed = await page.wallets.sign(request);
    expect(signed).to.deep.include({ publicKey: wallet.address, replayed: false });
    expect((await page.wallets.sign(request)).replayed).to.equal(true);
    await service.rpc.send(signed.signedTransaction);
    await eventually(
      'the transfer is in a block',
      async () => (await service.lamportsOf(wallet.address)) === ONE_SOL - 1_000n || undefined,
    );

    const byServer = { userId: wallet.userId, transaction: await unsigned(2_000n) };
    expect((await failureOf(backend().wallets.sign(byServer))).code).to.equal(
      'wallets/server_signing_disabled',
    );
    const settings = { serverSigningEnabled: true };
    requireStatus(await service.world.client.post(`/portal/app/${app.appId}/settings`, { settings }), 200);
    const byBackend = await eventually('the setting is seen', async () =>
      backend()
        .wallets.sign(byServer)
        .catch((error: unknown) => {
          if (error instanceof CofferError && error.code === 'wallets/server_signing_disabled')
            return undefined;
          throw error;
        }),
    );
    expect(byBackend.publicKey).to.equal(wallet.address);
  });

  it('exports the wallet once, under a key that hands it out again', async () => {
    const { page, wallet } = await playerWith(0n);
    expect(await page.wallets.exportPreflight(wallet.id)).to.deep.equal({
      allowed: true,
      reasons: [],
      floor: [],
    });
    const first = await page.wallets.export({ walletId: wallet.id });
    expect(first.exported).to.deep.include({ id: wallet.id, address: wallet.address });
    expect(first.exported.secretKey).to.be.a('string');
    expect(first.wallet.id).not.to.equal(wallet.id);
    const again = await page.wallets.export({ walletId: wallet.id, idempotencyKey: first.idempotencyKey });
    expect(again).to.deep.equal({ ...first, replayed: true });
    expect((await page.wallets.me()).id).to.equal(first.wallet.id);

    const recipientPublicKey = Buffer.from(
      generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x ?? '',
      'base64url',
    ).toString('base64');
    const sealed = await page.wallets.export({ walletId: first.wallet.id, recipientPublicKey });
    expect(sealed.exported.secretKey).to.equal(undefined);
    expect(Buffer.from(sealed.exported.sealedSecretKey ?? '', 'base64')).to.have.length(32 + 24 + 16 + 64);
  });
});
