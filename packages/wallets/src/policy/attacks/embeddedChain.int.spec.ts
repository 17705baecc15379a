/**
 * The attacks against real parts throughout: HTTP, Postgres, the adapter for Solana's JSON-RPC, and a chain behind it.
 */
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { type Chain, createRpcChain } from '@coffer/solana';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import { AddressLookupTableProgram } from '@solana/web3.js';
import { expect } from 'chai';
import { ATTACKS } from '../../testing/attacks/attacks.ts';
import { build, Keypair, PublicKey, pay, type Scene } from '../../testing/attacks/scene.ts';
import { type SigningWorld, startSigningWorld } from '../../testing/index.ts';

describe('signing, with nodes behind JSON-RPC', () => {
  let signing: SigningWorld;
  let node: ChainWorld;
  let chain: Chain;
  let blockhash: string;
  let scene: Scene;

  before(async () => {
    signing = await startSigningWorld();
    const mint = Keypair.generate().publicKey;
    node = await startChainWorld({ mints: [{ address: mint.toBase58(), decimals: 6 }] });
    chain = createRpcChain({ urls: [node.url], timeoutMs: 10_000 });
    signing.settings.chainOf = () => chain;

    const wallet = new PublicKey(signing.wallet.address);
    const thief = Keypair.generate().publicKey;
    const sponsor = Keypair.generate();
    for (const one of [wallet, thief, sponsor.publicKey]) await node.fund(one.toBase58(), 10_000_000_000n);
    await node.giveTokens(wallet.toBase58(), mint.toBase58(), 1_000_000n);
    await node.giveTokens(thief.toBase58(), mint.toBase58(), 1n);
    scene = {
      chain: { blockhash: () => blockhash },
      wallet,
      mint,
      thief,
      sponsor,
      held: getAssociatedTokenAddressSync(mint, wallet, true),
      thiefs: getAssociatedTokenAddressSync(mint, thief, true),
    };
  });
  after(async () => {
    await chain.close();
    await node.stop();
    await signing.stop();
  });
  beforeEach(async () => {
    ({ blockhash } = await chain.latestBlockhash());
  });

  for (const { name, build: of, verdict } of ATTACKS.filter(({ isPlanted }) => !isPlanted)) {
    it(`refuses, and opens no key for: ${name}`, async () => {
      const opened = (await signing.openings()).length;
      // This list leaves out attacks with planted accounts, so only the blockhash is asked of the scene's chain.
      const wire = of(scene as Parameters<typeof of>[0]);
      for (const { json } of [await signing.asPlayer(wire), await signing.asServer(wire)]) {
        const { reason, reasons = [reason] } = json.details as Record<string, string[]>;
        expect([json.code, reasons]).to.deep.equal([verdict.code, [verdict.reason]]);
      }
      expect(await signing.openings()).to.have.length(opened);
    });
  }

  it('signs what is good, and the chain takes it', async () => {
    const owner = Keypair.generate().publicKey;
    const made = getAssociatedTokenAddressSync(scene.mint, owner);
    const { wallet, mint, held, thief } = scene;
    const wire = build(scene, [
      pay(scene, thief, 1_000),
      createAssociatedTokenAccountIdempotentInstruction(wallet, made, owner, mint),
      createTransferCheckedInstruction(held, mint, made, wallet, 4n, 6),
    ]);
    const { status, json } = await signing.asPlayer(wire);
    expect(status, JSON.stringify(json)).to.equal(200);
    const sent = await chain.send(Buffer.from(String(json.signedTransaction), 'base64'));
    expect(sent.outcome).to.equal('accepted');
    node.finalize();
    const executed = await chain.transaction(String(json.signature));
    expect(executed?.error).to.equal(null);
    expect(executed?.tokens).to.deep.include({
      account: made.toBase58(),
      owner: owner.toBase58(),
      mint: mint.toBase58(),
      before: 0n,
      after: 4n,
    });
  });

  it('sees whom a lookup table hides: one with the wallet itself is refused, another is signed', async () => {
    const { wallet, thief, sponsor } = scene;
    const recentSlot = Number(await node.call('getSlot', [{ commitment: 'finalized' }]));
    const authority = sponsor.publicKey;
    const [create, key] = AddressLookupTableProgram.createLookupTable({
      authority,
      payer: authority,
      recentSlot,
    });
    const addresses = [thief, wallet];
    const extend = AddressLookupTableProgram.extendLookupTable({
      lookupTable: key,
      authority,
      payer: authority,
      addresses,
    });
    const made = build(scene, [create, extend], { payer: authority, signers: [sponsor] });
    expect((await chain.send(made)).outcome).to.equal('accepted');
    const hidden = () => build(scene, [pay(scene, thief, 1_000)], { tables: [{ key, addresses: [thief] }] });
    node.advance(4);
    const [confirmed] = await chain.accounts([key.toBase58()], 'confirmed');
    expect(confirmed).not.to.equal(undefined);
    // It is confirmed. Nothing relies on it until it is final, and the answer says so.
    expect((await signing.asPlayer(hidden())).json.details).to.deep.equal({
      reason: 'lookup_table_not_final',
    });
    node.finalize();
    ({ blockhash } = await chain.latestBlockhash());
    for (const { status, json } of [await signing.asPlayer(hidden()), await signing.asServer(hidden())]) {
      expect(status, JSON.stringify(json)).to.equal(200);
    }

    // One more address, confirmed but not final.
    const fresh = Keypair.generate().publicKey;
    const more = AddressLookupTableProgram.extendLookupTable({
      lookupTable: key,
      authority,
      payer: authority,
      addresses: [fresh],
    });
    expect(
      (await chain.send(build(scene, [more], { payer: authority, signers: [sponsor] }))).outcome,
    ).to.equal('accepted');
    node.advance(4);
    const toFresh = () =>
      build(scene, [pay(scene, fresh, 1_000_000)], { tables: [{ key, addresses: [thief, wallet, fresh] }] });
    expect((await signing.asPlayer(toFresh())).json.details).to.deep.equal({
      reason: 'lookup_table_not_final',
    });
    node.finalize();
    ({ blockhash } = await chain.latestBlockhash());
    expect((await signing.asPlayer(toFresh())).status).to.equal(200);

    // Index 1 is the wallet, which is already among the static keys.
    const twice = build(scene, [pay(scene, thief, 1_000)], {
      tables: [{ key, addresses: [sponsor.publicKey, thief] }],
    });
    expect((await signing.asPlayer(twice)).json.details).to.deep.equal({ reason: 'duplicate_account' });
  });

  it("answers why a transaction would fail, in the cluster's words", async () => {
    const { status, json } = await signing.asPlayer(build(scene, [pay(scene, scene.thief, 99_000_000_000n)]));
    expect([status, json.code]).to.deep.equal([409, 'wallets/simulation_failed']);
    expect(json.details).to.deep.equal({ reason: '{"InstructionError":[0,{"Custom":1}]}' });
  });
});
