/** The chain's checks on a currency before it is added permanently. Source: docs/api.md, Apps, keys and currencies. */
import { type ChainWorld, startChainWorld } from '@coffer/embedded-chain/testing';
import { contexts } from '@coffer/host';
import { type ContextWorld, requireStatus, startContexts, verdict } from '@coffer/host/testing';
import { chainContext } from '@coffer/moves';
import { type Chain, createRpcChain, type OpenChains, openChains, TOKEN_2022_PROGRAM } from '@coffer/solana';
import { Keypair, PublicKey, SystemProgram, Transaction, TransactionInstruction } from '@solana/web3.js';
import { expect } from 'chai';
import { type PortalGiven, portalContext } from '../context.ts';

const newAddress = () => Keypair.generate().publicKey.toBase58();

describe('a currency', () => {
  let node: ChainWorld;
  let chain: Chain;
  let chains: OpenChains;
  let world: ContextWorld<PortalGiven>;
  let path: string;
  let nextId = 10;
  before(async () => {
    node = await startChainWorld();
    chain = createRpcChain({ urls: [node.url], timeoutMs: 10_000 });
    // A cluster: no mint is created there for a currency.
    chains = openChains({ test: [node.url], live: undefined });
    const mints = { ensure: chains.ensureMint, checkOn: chains.mintCheck, errors: ['chain/unreachable'] };
    world = await startContexts({
      contexts: contexts<PortalGiven>().with(chainContext).with(portalContext),
      given: { acceptsLoopback: false, mints },
    });
    const made = requireStatus(await world.client.post('/portal/apps', { name: 'Arcade' }), 200);
    path = `/portal/app/${made.json.appId}/currencies`;
  });
  after(async () => {
    await world.stop();
    await chains.close();
    await chain.close();
    await node.stop();
  });

  const add = (mint: { readonly test?: string | null; readonly live?: string | null }, decimals = 6) => {
    nextId += 1;
    return world.client.post(path, { id: nextId, code: `C${nextId}`, decimals, mint });
  };
  const newMint = async (decimals: number) => {
    const address = newAddress();
    await node.ensureMint({ address, decimals });
    return address;
  };
  /** A Token-2022 mint with one extension of this many bytes, initialised with the issuer's address. */
  async function extendedMint(bytes: number, begin: (issuer: Uint8Array) => Buffer): Promise<string> {
    const payer = Keypair.generate();
    const mint = Keypair.generate();
    const issuer = payer.publicKey;
    const programId = new PublicKey(TOKEN_2022_PROGRAM);
    await node.fund(issuer.toBase58(), 1_000_000_000n);
    // After the base, its type and the header of the one extension.
    const space = 165 + 1 + 4 + bytes;
    const onMint = (data: Buffer) =>
      new TransactionInstruction({
        programId,
        keys: [{ pubkey: mint.publicKey, isSigner: false, isWritable: true }],
        data,
      });
    const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
    const transaction = new Transaction({
      feePayer: issuer,
      blockhash,
      lastValidBlockHeight: Number(lastValidBlockHeight),
    }).add(
      SystemProgram.createAccount({
        fromPubkey: issuer,
        newAccountPubkey: mint.publicKey,
        space,
        lamports: Number(await chain.rentMinimum(space)),
        programId,
      }),
      onMint(begin(issuer.toBytes())),
      // InitializeMint2: 6 decimals, no freeze authority.
      onMint(Buffer.concat([Buffer.of(20, 6), issuer.toBytes(), Buffer.of(0)])),
    );
    transaction.sign(payer, mint);
    const sent = await chain.send(transaction.serialize());
    expect(sent).to.deep.equal({ outcome: 'accepted' });
    node.finalize();
    return mint.publicKey.toBase58();
  }
  /** One per cent of what is sent, at most 1,000. */
  const withTransferFee = () =>
    extendedMint(108, (issuer) =>
      Buffer.concat([
        Buffer.of(26, 0, 1),
        issuer,
        Buffer.of(1),
        issuer,
        Buffer.of(100, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0),
      ]),
    );
  const withPermanentDelegate = () => extendedMint(32, (issuer) => Buffer.concat([Buffer.of(35), issuer]));

  it('is added where its mint is what it says', async () => {
    const mint = await newMint(6);
    const added = requireStatus(await add({ test: mint }), 200);
    expect(added.json.uncheckedMints).to.deep.equal([]);
    requireStatus(await add({ test: 'native', live: 'native' }, 9), 200);
    requireStatus(await add({}), 200);
  });

  it('is refused, and not added, where the mint is not what it says', async () => {
    const rows: readonly (readonly [mint: string, reason: string])[] = [
      [newAddress(), 'There is no such mint.'],
      [await newMint(2), 'The mint has 2 decimals.'],
      [await withTransferFee(), 'The mint has transferFeeConfig.'],
      [await withPermanentDelegate(), 'The mint has permanentDelegate.'],
    ];
    const list = async () => (await world.client.get(path)).json.items;
    const before = await list();
    for (const [mint, reason] of rows) {
      const refused = await add({ test: mint });
      expect(verdict(refused), reason).to.equal('409 portal/mint_not_supported');
      expect(refused.json.details).to.deep.equal({ environment: 'test', mint, reason });
    }
    expect(await list()).to.deep.equal(before);
  });

  it('says where nobody could ask', async () => {
    const live = newAddress();
    const added = requireStatus(await add({ live }), 200);
    expect(added.json.uncheckedMints).to.deep.equal(['live']);
  });

  it('sent again is answered as the first', async () => {
    const mint = await newMint(6);
    const currency = { id: 9, code: 'AGAIN', decimals: 6, mint: { test: mint, live: null } };
    const first = requireStatus(await world.client.post(path, currency), 200);
    const again = await world.client.post(path, currency);
    expect(again).to.include({ status: 200, replayed: true, text: first.text });
  });
});
