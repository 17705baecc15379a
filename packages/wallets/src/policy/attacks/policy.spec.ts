/** The rules against transactions that are executed: in Solana's virtual machine, in this process. */
import { decodeTransaction, resolveLookups, TransactionFormatError } from '@coffer/solana';
import { Keypair } from '@solana/web3.js';
import { expect } from 'chai';
import { ATTACKS, HIDDEN_PAYMENTS } from '../../testing/attacks/attacks.ts';
import { GOOD } from '../../testing/attacks/goodTransactions.ts';
import { createLiteSvmChain, RELAY_PROGRAM } from '../../testing/attacks/liteSvmChain.ts';
import { build, lookedUp, newScene, type PlantedScene, pay } from '../../testing/attacks/scene.ts';
import { checkSimulation } from '../checkSimulation.ts';
import { inspect } from '../inspect.ts';
import { DEFAULT_SIGNING_LIMITS } from '../limits.ts';

const limits = DEFAULT_SIGNING_LIMITS;
const newWalletScene = () => newScene(createLiteSvmChain(), Keypair.generate().publicKey);

/** Like the endpoints, without a key to sign with. */
async function verdictOf(scene: PlantedScene, wire: Uint8Array, programAllowList?: readonly string[]) {
  const { chain } = scene;
  const wallet = scene.wallet.toBase58();
  try {
    const transaction = await resolveLookups(chain, decodeTransaction(wire));
    const found = inspect(transaction, {
      wallet,
      ownKeys: new Set(),
      programAllowList: programAllowList && new Set(programAllowList),
      limits,
    });
    if (found.outcome !== 'accepted') return found;
    const watched = [wallet, ...transaction.accounts.map(({ address }) => address)];
    const before = await chain.accounts(watched, 'confirmed');
    const { error, accounts: after } = await chain.simulate(wire, watched);
    expect(error).to.equal(null);
    const stateOf = (accounts: typeof before) =>
      new Map(watched.map((address, index) => [address, accounts[index]]));
    const reasons = checkSimulation(stateOf(before), stateOf(after), {
      wallet,
      declared: found.declared,
      limits,
      trustsForeignPrograms: programAllowList !== undefined && found.declared.foreignPrograms.length > 0,
    });
    return reasons.length > 0 ? { outcome: 'refused' as const, reasons } : found;
  } catch (error) {
    if (error instanceof TransactionFormatError) return { outcome: 'invalid' as const, reason: error.fault };
    throw error;
  }
}

describe('what is signed', () => {
  for (const { name, build: of, verdict, failsAnyway } of ATTACKS) {
    it(`is not: ${name}`, async () => {
      const scene = newWalletScene();
      const wire = of(scene);
      const found = await verdictOf(scene, wire, [RELAY_PROGRAM.toBase58()]);
      if (verdict.code === 'wallets/invalid_transaction') {
        expect(found).to.deep.equal({ outcome: 'invalid', reason: verdict.reason });
        return;
      }
      expect(found).to.deep.equal({ outcome: 'refused', reasons: [verdict.reason] });
      // The runtime would not have stopped it.
      if (!failsAnyway) expect(scene.chain.execute(wire)).to.equal(null);
    });
  }

  for (const { name, build: of } of HIDDEN_PAYMENTS) {
    it(`is not, unless the program is trusted: ${name}`, async () => {
      const scene = newWalletScene();
      const wire = of(scene);
      expect(await verdictOf(scene, wire)).to.deep.equal({
        outcome: 'refused',
        reasons: ['unexplained_outflow'],
      });
      expect(await verdictOf(scene, wire, [])).to.deep.equal({
        outcome: 'program_not_allowed',
        programs: [RELAY_PROGRAM.toBase58()],
      });
      expect(await verdictOf(scene, wire, [RELAY_PROGRAM.toBase58()])).to.include({ outcome: 'accepted' });
      expect(scene.chain.execute(wire)).to.equal(null);
    });
  }

  for (const { name, build: of } of GOOD) {
    it(`is: ${name}`, async () => {
      const scene = newWalletScene();
      const wire = of(scene);
      expect(await verdictOf(scene, wire)).to.include({ outcome: 'accepted' });
      expect(await verdictOf(scene, wire, [])).to.include({ outcome: 'accepted' });
      expect(scene.chain.execute(wire)).to.equal(null);
    });
  }

  // One of them already has a table.
  for (const { name, build: of } of GOOD.filter((one) => !one.name.includes('lookup table'))) {
    it(`is, with as much as possible in a lookup table: ${name}`, async () => {
      const scene = newWalletScene();
      const wire = lookedUp(scene, of(scene));
      expect(decodeTransaction(wire).lookups).to.have.length(1);
      expect(await verdictOf(scene, wire)).to.include({ outcome: 'accepted' });
      expect(await verdictOf(scene, wire, [])).to.include({ outcome: 'accepted' });
      expect(scene.chain.execute(wire)).to.equal(null);
    });
  }

  it('says whom a lookup table hides', async () => {
    const scene = newWalletScene();
    const addresses = [scene.thief];
    const key = scene.chain.newLookupTable(addresses);
    const wire = build(scene, [pay(scene, scene.thief, 1_000_000_000)], { tables: [{ key, addresses }] });
    expect(decodeTransaction(wire).staticKeys).not.to.include(scene.thief.toBase58());
    expect(await verdictOf(scene, wire)).to.deep.equal({
      outcome: 'accepted',
      declared: {
        feeLamports: 5_000n,
        priorityLamports: 0n,
        lamports: [{ to: scene.thief.toBase58(), lamports: 1_000_000_000n }],
        tokens: [],
        rentOf: [],
        foreignPrograms: [],
      },
    });
  });

  it('never involves another key of ours, as payer or otherwise', async () => {
    const scene = newWalletScene();
    const { sponsor } = scene;
    const wire = build(scene, [pay(scene, scene.thief, 1)], { payer: sponsor.publicKey, signers: [sponsor] });
    const found = inspect(await resolveLookups(scene.chain, decodeTransaction(wire)), {
      wallet: scene.wallet.toBase58(),
      ownKeys: new Set([sponsor.publicKey.toBase58()]),
      programAllowList: undefined,
      limits,
    });
    expect(found).to.deep.equal({ outcome: 'refused', reasons: ['own_key_signer'] });
  });
});
