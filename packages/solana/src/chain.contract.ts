/** What every chain behind the port must do: run on the memory chain, the embedded one and real nodes. */
import { decodeBase58Address } from '@coffer/kernel';
import { expect } from 'chai';
import type { Chain, ExecutedTransaction, Signature, TransactionStatus } from './port.ts';
import { MEMO_PROGRAM, SYSTEM_PROGRAM } from './programs/ids.ts';
import { decodeMint, mintProblem } from './programs/mint.ts';
import { referenceOf } from './reference.ts';
import { signedTransfer, type TestWallet, testWallet } from './testing/testWallet.ts';
import { planTransfer } from './transferPlan.ts';
import { associatedTokenAddress } from './web3/addresses.ts';
import { signatureOf, type TransferMint } from './web3/buildTransfer.ts';

export interface ChainWorld {
  readonly chain: Chain;
  /** Visible at every commitment when it returns. The same holds for tokens. */
  readonly fund: (address: string, lamports: bigint) => Promise<void>;
  /** A mint without extensions, and a way to get its tokens. */
  readonly token: {
    readonly mint: TransferMint;
    readonly give: (owner: string, amount: bigint) => Promise<void>;
  };
  /** Repeats until `isReached`, letting the chain advance meanwhile. */
  readonly until: (isReached: () => Promise<boolean>) => Promise<void>;
  /** Makes names of wallets and moves unique on this chain. */
  readonly runId: string;
  /** Only if the chain supports it: drops what is final by now, like nodes that prune their history. */
  readonly prune?: (statuses: 'kept' | 'forgotten') => Promise<void>;
  readonly close: () => Promise<void>;
}

const SOL = 1_000_000_000n;
const priority = { unitLimit: 60_000, microLamports: 1_000n };
/** Two signatures, plus the compute limit times its price. */
const FEE = 10_000n + 60n;

export function itIsAChain(name: string, makeWorld: () => Promise<ChainWorld>): void {
  describe(`${name} is a chain`, () => {
    // A blockhash lives for 151 blocks, a minute or more where blocks are made by a clock.
    let world: ChainWorld;
    let chain: Chain;
    let names = 0;

    before(async () => {
      world = await makeWorld();
      ({ chain } = world);
    });
    after(() => world.close());

    const newWallet = (): TestWallet => testWallet(`${world.runId} ${names++}`);
    const newMoveId = () => `mov_${world.runId}_${names++}`;

    async function fundedWallet(lamports: bigint): Promise<TestWallet> {
      const wallet = newWallet();
      await world.fund(wallet.address, lamports);
      return wallet;
    }

    async function lamportsOf({ address }: TestWallet): Promise<bigint> {
      const [account] = await chain.accounts([address], 'finalized');
      return account?.lamports ?? 0n;
    }

    async function settled(signature: Signature): Promise<TransactionStatus> {
      let found: TransactionStatus | undefined;
      await world.until(async () => {
        [found] = await chain.statuses([signature]);
        return found?.commitment === 'finalized';
      });
      return found ?? expect.fail('No status.');
    }

    async function executed(signature: Signature): Promise<ExecutedTransaction> {
      let found: ExecutedTransaction | undefined;
      await world.until(async () => {
        found = await chain.transaction(signature);
        return found !== undefined;
      });
      return found ?? expect.fail('Not executed.');
    }

    /** A signed native transfer between wallets that have enough funds, or enough for all but the amount. */
    async function transfer(of: { amount: bigint; funds?: bigint; moveId?: string; to?: TestWallet }) {
      const [feePayer, from] = await Promise.all([fundedWallet(SOL), fundedWallet(of.funds ?? SOL)]);
      const to = of.to ?? newWallet();
      const moveId = of.moveId ?? newMoveId();
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      const wire = signedTransfer(
        {
          to: to.address,
          mint: 'native',
          amount: of.amount,
          moveId,
          blockhash,
          priority,
          createsAccount: false,
        },
        feePayer,
        from,
      );
      return { feePayer, from, to, moveId, wire, lastValidBlockHeight, signature: signatureOf(wire) };
    }

    it('names a blockhash, and how long it is valid', async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      expect(decodeBase58Address(blockhash)).to.have.length(32);
      await world.until(async () => {
        const later = await chain.latestBlockhash();
        return later.lastValidBlockHeight > lastValidBlockHeight && later.blockhash !== blockhash;
      });
    });

    it('shows accounts in the order asked for, and none for those that do not exist', async () => {
      const rich = await fundedWallet(3n * SOL);
      const nobody = newWallet();
      for (const commitment of ['processed', 'confirmed', 'finalized'] as const) {
        const addresses = [nobody.address, rich.address, nobody.address];
        const [before, account, after, ...more] = await chain.accounts(addresses, commitment);
        expect([before, after, ...more]).to.deep.equal([undefined, undefined]);
        expect(account).to.deep.include({ address: rich.address, owner: SYSTEM_PROGRAM, lamports: 3n * SOL });
        expect(account?.data).to.have.length(0);
        expect(account?.isExecutable).to.equal(false);
      }
      expect(await chain.accounts([], 'confirmed')).to.deep.equal([]);
    });

    it('says what an account must hold', async () => {
      const [empty, token] = await Promise.all([chain.rentMinimum(0), chain.rentMinimum(165)]);
      expect(empty > 0n && token > empty).to.equal(true);
    });

    it('says what transactions have offered lately', async () => {
      expect((await chain.recentPriorityFee([newWallet().address])) >= 0n).to.equal(true);
    });

    it('moves lamports, once however often it is sent, and shows what was moved', async () => {
      const { feePayer, from, to, moveId, wire, signature, lastValidBlockHeight } = await transfer({
        amount: 400_000_000n,
      });
      expect(await chain.statuses([signature])).to.deep.equal([undefined]);
      expect(await chain.send(wire)).to.deep.equal({ outcome: 'accepted' });
      await chain.send(wire);

      const status = await settled(signature);
      expect(status.error).to.equal(null);
      await chain.send(wire);
      const later = await transfer({ amount: 10_000_000n });
      await chain.send(later.wire);
      await settled(later.signature);
      const known = await executed(signature);
      expect(known).to.deep.include({
        signature,
        slot: status.slot,
        error: null,
        signers: [feePayer.address, from.address],
        feeLamports: FEE,
        tokens: [],
      });
      const changeOf = (wallet: TestWallet) =>
        known.lamports.find(({ address }) => address === wallet.address);
      expect(changeOf(feePayer)).to.deep.include({ before: SOL, after: SOL - FEE });
      expect(changeOf(from)).to.deep.include({ before: SOL, after: SOL - 400_000_000n });
      expect(changeOf(to)).to.deep.include({ before: 0n, after: 400_000_000n });
      expect(known.lamports.map(({ address }) => address)).to.include.members([
        SYSTEM_PROGRAM,
        MEMO_PROGRAM,
        referenceOf(moveId),
      ]);
      expect(await Promise.all([feePayer, from, to].map(lamportsOf))).to.deep.equal([
        SOL - FEE,
        SOL - 400_000_000n,
        400_000_000n,
      ]);

      const [found, ...more] = await chain.transactionsOf(referenceOf(moveId), { limit: 10 });
      expect(more).to.deep.equal([]);
      expect(found).to.deep.include({ signature, slot: status.slot, error: null });
      expect(found?.memo).to.include(moveId);
      expect(await chain.isLost(signature, lastValidBlockHeight)).to.equal(false);
    });

    it('keeps the order of statuses, and has none for what was never sent', async () => {
      const [one, other] = [await transfer({ amount: 10_000_000n }), await transfer({ amount: 10_000_000n })];
      await chain.send(one.wire);
      await settled(one.signature);
      const asked = [other.signature, one.signature, other.signature];
      const [before, known, after] = await chain.statuses(asked);
      expect([before, after]).to.deep.equal([undefined, undefined]);
      expect(known?.commitment).to.equal('finalized');
      expect(await chain.transaction(other.signature)).to.equal(undefined);
      expect(await chain.statuses([])).to.deep.equal([]);
    });

    it('shows a transaction that failed with its error, and that it has paid the fee and nothing else', async () => {
      const { feePayer, from, to, moveId, wire, signature } = await transfer({ amount: 2n * SOL });
      await chain.send(wire);
      const { error } = await settled(signature);
      expect(error).to.include('InstructionError');
      const known = await executed(signature);
      expect(known.error).to.equal(error);
      expect(known.feeLamports).to.equal(FEE);
      expect(await Promise.all([feePayer, from, to].map(lamportsOf))).to.deep.equal([SOL - FEE, SOL, 0n]);
      const [found] = await chain.transactionsOf(referenceOf(moveId), { limit: 1 });
      expect(found).to.deep.include({ signature, error });
    });

    it('refuses bytes that lack a required signature', async () => {
      const { to, wire, signature } = await transfer({ amount: 10_000_000n });
      const forged = Uint8Array.from(wire);
      // In the second signature, made by the paying wallet.
      forged[80] = (forged[80] ?? 0) ^ 1;
      const outcome = await chain.send(forged);
      // A node may accept it without looking, but must never execute it.
      expect(outcome.outcome).to.be.oneOf(['accepted', 'refused']);
      const next = await transfer({ amount: 10_000_000n });
      await chain.send(next.wire);
      await settled(next.signature);
      expect(await chain.statuses([signature])).to.deep.equal([undefined]);
      expect(await lamportsOf(to)).to.equal(0n);
    });

    it('simulates a transaction without carrying it out', async () => {
      const { from, to, wire, signature } = await transfer({ amount: 10_000_000n });
      const nobody = newWallet();
      const simulation = await chain.simulate(wire, [to.address, from.address]);
      expect(simulation.error).to.equal(null);
      expect(simulation.unitsConsumed > 0n).to.equal(true);
      expect(simulation.accounts.map((account) => account?.lamports)).to.deep.equal([
        10_000_000n,
        SOL - 10_000_000n,
      ]);
      expect((await chain.simulate(wire, [])).accounts).to.deep.equal([]);
      expect(await lamportsOf(from)).to.equal(SOL);
      expect(await chain.statuses([signature])).to.deep.equal([undefined]);

      const failing = await transfer({ amount: 2n * SOL, to: nobody });
      const failed = await chain.simulate(failing.wire, [failing.to.address]);
      expect(failed.error).to.include('InstructionError');
      expect(failed.accounts).to.deep.equal([]);
    });

    it('lists the transactions of an address in pages, newest first', async () => {
      const moveId = newMoveId();
      const signatures: Signature[] = [];
      for (let count = 0; count < 3; count++) {
        const { wire, signature } = await transfer({ amount: 10_000_000n, moveId });
        await chain.send(wire);
        await settled(signature);
        signatures.unshift(signature);
      }
      const page = async (of: { limit: number; before?: Signature; until?: Signature }) =>
        (await chain.transactionsOf(referenceOf(moveId), of)).map(({ signature }) => signature);
      const [newest = '', middle = '', oldest = ''] = signatures;
      expect(await page({ limit: 10 })).to.deep.equal([newest, middle, oldest]);
      expect(await page({ limit: 2 })).to.deep.equal([newest, middle]);
      expect(await page({ limit: 2, before: middle })).to.deep.equal([oldest]);
      expect(await page({ limit: 10, until: oldest })).to.deep.equal([newest, middle]);
      expect(await page({ limit: 10, before: oldest })).to.deep.equal([]);
    });

    it('reports a transaction as lost only if it can never land', async () => {
      const landed = await transfer({ amount: 10_000_000n });
      const missed = await transfer({ amount: 10_000_000n });
      expect(await chain.isLost(missed.signature, missed.lastValidBlockHeight)).to.equal(false);
      await chain.send(landed.wire);
      await settled(landed.signature);
      expect(await chain.isLost(missed.signature, missed.lastValidBlockHeight)).to.equal(false);

      await world.until(() => chain.isLost(missed.signature, missed.lastValidBlockHeight));
      expect(await chain.isLost(landed.signature, landed.lastValidBlockHeight)).to.equal(false);
      await chain.send(missed.wire);
      const next = await transfer({ amount: 10_000_000n });
      await chain.send(next.wire);
      await settled(next.signature);
      expect(await chain.statuses([missed.signature])).to.deep.equal([undefined]);
      expect(await lamportsOf(missed.to)).to.equal(0n);
      expect((await chain.simulate(missed.wire, [])).error).to.equal('BlockhashNotFound');
    });

    it("moves tokens into an account that it makes at the fee payer's cost", async () => {
      const { token } = world;
      const feePayer = await fundedWallet(SOL);
      const [from, to] = [newWallet(), newWallet()];
      await token.give(from.address, 5_000_000n);
      const { blockhash } = await chain.latestBlockhash();
      const moveId = newMoveId();
      const order = { to: to.address, mint: token.mint, amount: 1_500_000n, moveId, blockhash, priority };
      const wire = signedTransfer({ ...order, createsAccount: true }, feePayer, from);
      const signature = signatureOf(wire);
      await chain.send(wire);
      expect((await settled(signature)).error).to.equal(null);

      const { mint } = token;
      const accountOf = ({ address }: TestWallet) =>
        associatedTokenAddress(address, mint.address, mint.program);
      const held = async (owner: TestWallet) => {
        const [account, ...more] = await chain.tokenAccountsOf(owner.address, 'finalized');
        expect(more).to.deep.equal([]);
        return account;
      };
      for (const [owner, amount] of [
        [from, 3_500_000n],
        [to, 1_500_000n],
      ] as const)
        expect(await held(owner)).to.deep.equal({
          address: accountOf(owner),
          program: mint.program,
          mint: mint.address,
          owner: owner.address,
          amount,
          isFrozen: false,
          delegate: null,
          closeAuthority: null,
        });

      const known = await executed(signature);
      const rent = await chain.rentMinimum(
        (await chain.accounts([accountOf(to)], 'finalized'))[0]?.data.length ?? 0,
      );
      expect(known.feeLamports).to.equal(FEE);
      expect(await lamportsOf(feePayer)).to.equal(SOL - FEE - rent);
      const byOwner = new Map(known.tokens.map((change) => [change.owner, change]));
      expect(byOwner.size).to.equal(2);
      expect(byOwner.get(from.address)).to.deep.equal({
        account: accountOf(from),
        owner: from.address,
        mint: mint.address,
        before: 5_000_000n,
        after: 3_500_000n,
      });
      expect(byOwner.get(to.address)).to.deep.equal({
        account: accountOf(to),
        owner: to.address,
        mint: mint.address,
        before: 0n,
        after: 1_500_000n,
      });
      const [found] = await chain.transactionsOf(referenceOf(moveId), { limit: 10 });
      expect(found?.signature).to.equal(signature);
    });

    for (const beforehand of [0n, 890_880n, 5_000_000n])
      it(`makes a token account at an address with ${beforehand} lamports, at the planned cost`, async () => {
        const { token } = world;
        const feePayer = await fundedWallet(SOL);
        const [from, to] = [newWallet(), newWallet()];
        const { mint } = token;
        await token.give(from.address, 7n);
        const account = associatedTokenAddress(to.address, mint.address, mint.program);
        if (beforehand > 0n) await world.fund(account, beforehand);
        const wanted = { from: from.address, to: to.address, mint: mint.address, amount: 7n };
        const plan = await planTransfer(chain, { ...wanted, decimals: mint.decimals });
        if (plan.outcome !== 'possible') return expect.fail(plan.outcome);
        expect(plan.createsAccount).to.equal(true);

        const { blockhash } = await chain.latestBlockhash();
        const order = { to: to.address, mint, amount: 7n, moveId: newMoveId(), blockhash, priority };
        const wire = signedTransfer({ ...order, createsAccount: true }, feePayer, from);
        await chain.send(wire);
        expect((await settled(signatureOf(wire))).error).to.equal(null);
        expect(await lamportsOf(feePayer)).to.equal(SOL - FEE - plan.rent);
        const [made] = await chain.tokenAccountsOf(to.address, 'finalized');
        expect(made).to.deep.include({ address: account, amount: 7n });
      });

    it('distinguishes what no node keeps from what never existed', async () => {
      const landed = await transfer({ amount: 10_000_000n });
      const never = await transfer({ amount: 10_000_000n });
      await chain.send(landed.wire);
      const { slot } = await settled(landed.signature);
      const kept = await executed(landed.signature);
      expect(await chain.absence(never.signature, slot)).to.equal('unknown');
      const { from, to } = await chain.history();
      expect(from <= slot && slot <= to).to.equal(true);
      expect(await chain.absence(never.signature, slot + 1_000_000n), 'from the future').to.equal('notFinal');
      if (!world.prune) return;

      for (const statuses of ['kept', 'forgotten'] as const) {
        await world.prune(statuses);
        expect(await chain.transaction(kept.signature)).to.equal(undefined);
        expect(await chain.transactionsOf(referenceOf(landed.moveId), { limit: 10 })).to.deep.equal([]);
        expect((await chain.statuses([kept.signature]))[0]?.commitment).to.equal(
          statuses === 'kept' ? 'finalized' : undefined,
        );
        expect(await chain.absence(kept.signature, slot), statuses).to.equal('notKept');
        expect(await chain.absence(never.signature, slot)).to.equal('notKept');
        expect((await chain.history()).from > slot).to.equal(true);
        const next = await transfer({ amount: 10_000_000n });
        await chain.send(next.wire);
        const later = await settled(next.signature);
        expect((await executed(next.signature)).slot).to.equal(later.slot);
        expect(await chain.absence(never.signature, later.slot), 'after what was discarded').to.equal(
          'unknown',
        );
      }
    });

    it('has a mint that can be read', async () => {
      const { token } = world;
      const [account] = await chain.accounts([token.mint.address], 'finalized');
      const mint = account && decodeMint(account);
      expect(mint).to.deep.include({ ...token.mint, extensions: [] });
      expect(mintProblem(mint, token.mint.decimals)).to.equal(undefined);
      expect(await chain.tokenAccountsOf(newWallet().address, 'confirmed')).to.deep.equal([]);
    });
  });
}
