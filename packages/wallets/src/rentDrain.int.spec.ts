/**
 * Attacks on whoever pays for token accounts: somebody closes the account that was paid for, and keeps its rent. Over
 * HTTP and on a chain, with a stranger who closes accounts. Source: docs/adr/0024-rent.md.
 */

import { type Answer, requireStatus } from '@coffer/host/testing';
import { associatedTokenAddress, referenceOf, signatureOf, TOKEN_PROGRAM } from '@coffer/solana';
import { eventually } from '@coffer/testing';
import { Keypair, PublicKey, SystemProgram, Transaction, TransactionInstruction } from '@solana/web3.js';
import { expect } from 'chai';
import {
  GEM,
  LAMPORTS_PER_SOL,
  moveIdOf,
  newAddress,
  type Player,
  type PlayersOnChain,
  startPlayersOnChain,
  withdrawalWith,
} from './testing/index.ts';

const RENT = 2_039_280n;
const RENT_MINIMUM = 890_880n;
const AT_ONCE = 40;
/** The settings as they are if nobody has changed them. */
const PER_USER_AND_DAY = 2;
const NOT_SPONSORED = {
  status: 409,
  code: 'wallets/rent_not_sponsored',
  details: { lamports: RENT.toString() },
};

describe('the rent of token accounts', () => {
  let wallets: PlayersOnChain;
  let player: Player;
  let feePayer: string;
  let treasury: string;
  const thief = Keypair.generate();
  let requests = 0;

  before(async () => {
    wallets = await startPlayersOnChain();
    const { world, app, node } = wallets;
    const { json } = requireStatus(await world.client.get(`/portal/app/${app.appId}/test/wallets`), 200);
    const addressOf = (role: string) =>
      String((json.items as Record<string, string>[]).find((one) => one.role === role)?.address);
    [feePayer, treasury] = [addressOf('feePayer'), addressOf('treasury')];
    await node.fund(feePayer, 20n * LAMPORTS_PER_SOL);
    await node.fund(thief.publicKey.toBase58(), LAMPORTS_PER_SOL);
  });
  after(() => wallets.stop());
  beforeEach(async () => {
    player = await wallets.newPlayer();
    await wallets.node.giveTokens(player.wallet.address, GEM.mint, 1_000n);
  });

  const accountOf = (owner: string) => associatedTokenAddress(owner, GEM.mint, TOKEN_PROGRAM);
  const withdraw = (toAddress: string, amount = '1', currency: number = GEM.id) => {
    const idempotencyKey = `withdraw-${requests++}`;
    return player.post(`/wallets/${player.wallet.id}/withdraw`, {
      idempotencyKey,
      toAddress,
      amount,
      currency,
    });
  };
  const carried = (answer: Answer, status = 'confirmed') =>
    wallets.carriedUntil(`it is ${status}`, withdrawalWith(player, moveIdOf(answer), status));
  const refusalOf = ({ status, json: { code, details } }: Answer) => ({ status, code, details });

  const transfer = (kind: 'deposit' | 'withdraw', amount: string) => {
    const ref = `ref-${requests++}`;
    const body = { userId: player.userId, currency: GEM.id, amount, ref };
    return wallets.app.test.post(`/treasury/${kind}`, body);
  };
  const landed = (answer: Answer) =>
    wallets.carriedUntil('it is confirmed', async () => {
      const { json } = await wallets.app.test.post('/treasury/status', { ref: answer.json.ref });
      if (json.status === 'failed') throw new Error(JSON.stringify(json));
      return json.status === 'confirmed' || undefined;
    });

  /** Beyond the fees, by all transactions of the moves. */
  async function paidByApp(answers: readonly Answer[]): Promise<bigint> {
    let paid = 0n;
    for (const answer of answers) {
      const known = await wallets.rpc.transactionsOf(referenceOf(moveIdOf(answer)), { limit: 10 });
      for (const { signature } of known) {
        const executed = await wallets.rpc.transaction(signature);
        const [payer] = executed?.lamports ?? [];
        expect(payer?.address).to.equal(feePayer);
        paid += (payer?.before ?? 0n) - (payer?.after ?? 0n) - (executed?.feeLamports ?? 0n);
      }
    }
    return paid;
  }

  const burn = (owner: PublicKey, amount: bigint) => {
    const data = Buffer.alloc(9);
    data.writeUInt8(8, 0);
    data.writeBigUInt64LE(amount, 1);
    return ofTokenProgram([accountOf(owner.toBase58()), GEM.mint], owner, data);
  };
  const close = (owner: PublicKey, to: PublicKey) =>
    ofTokenProgram([accountOf(owner.toBase58()), to.toBase58()], owner, Buffer.of(9));
  const transactionOf = async (payer: PublicKey, ...instructions: TransactionInstruction[]) => {
    const { blockhash, lastValidBlockHeight } = await wallets.rpc.latestBlockhash();
    const lifetime = { blockhash, lastValidBlockHeight: Number(lastValidBlockHeight) };
    return new Transaction({ feePayer: payer, ...lifetime }).add(...instructions);
  };
  async function execute(wire: Uint8Array): Promise<void> {
    expect((await wallets.rpc.send(wire)).outcome).to.equal('accepted');
    await eventually('it is final', async () => {
      wallets.node.finalize();
      const executed = await wallets.rpc.transaction(signatureOf(wire));
      if (executed) expect(executed.error).to.equal(null);
      return executed;
    });
  }
  /** What a recipient does with an account made for it: its rent goes to the thief. */
  async function closedBy(owner: Keypair, holds: bigint): Promise<void> {
    const { publicKey } = owner;
    const transaction = await transactionOf(
      thief.publicKey,
      burn(publicKey, holds),
      close(publicKey, thief.publicKey),
    );
    transaction.sign(thief, owner);
    await execute(transaction.serialize());
  }
  /** The player closes their own account by `/sign`, and sends the rent elsewhere. */
  async function closedByPlayer(): Promise<void> {
    const owner = new PublicKey(player.wallet.address);
    const unsigned = await transactionOf(
      owner,
      close(owner, owner),
      SystemProgram.transfer({ fromPubkey: owner, toPubkey: thief.publicKey, lamports: RENT }),
    );
    const transaction = unsigned.serialize({ requireAllSignatures: false }).toString('base64');
    const { json } = requireStatus(
      await player.post(`/wallets/${player.wallet.id}/sign`, { transaction }),
      200,
    );
    await execute(Buffer.from(String(json.signedTransaction), 'base64'));
  }

  it(`cannot be drained by sending one unit to ${AT_ONCE} fresh addresses that close their accounts`, async () => {
    const recipients = Array.from({ length: AT_ONCE }, () => Keypair.generate());
    const sendToAll = () => Promise.all(recipients.map(({ publicKey }) => withdraw(publicKey.toBase58())));
    const answers = await sendToAll();
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).to.have.length(PER_USER_AND_DAY);
    for (const answer of answers) {
      if (answer.status !== 200) expect(refusalOf(answer)).to.deep.equal(NOT_SPONSORED);
    }
    for (const answer of accepted) await carried(answer);
    const paid = recipients.filter(({ publicKey }) =>
      accepted.some(({ json }) => json.toAddress === publicKey.toBase58()),
    );
    for (const recipient of paid) await closedBy(recipient, 1n);
    for (const again of await sendToAll()) expect(refusalOf(again)).to.deep.equal(NOT_SPONSORED);
    expect(await paidByApp(accepted)).to.equal(BigInt(PER_USER_AND_DAY) * RENT);
  });

  it('is paid by the wallet that holds the SOL, for as many as it wants', async () => {
    const count = 4;
    await wallets.node.fund(player.wallet.address, BigInt(count) * RENT);
    const answers: Answer[] = [];
    for (let index = 0; index < count; index++) {
      const answer = await withdraw(newAddress());
      await carried(answer);
      answers.push(answer);
    }
    expect(await paidByApp(answers)).to.equal(0n);
    expect(await wallets.lamportsOf(player.wallet.address)).to.equal(0n);
    const sponsored = await withdraw(newAddress());
    expect(sponsored.status).to.equal(200);
  });

  it('does not come into it when SOL is sent to fresh addresses', async () => {
    await wallets.node.fund(player.wallet.address, LAMPORTS_PER_SOL);
    const answers: Answer[] = [];
    for (let index = 0; index < 4; index++) {
      answers.push(await withdraw(newAddress(), RENT_MINIMUM.toString(), 1));
    }
    for (const answer of answers) await carried(answer);
    expect(await paidByApp(answers)).to.equal(0n);
  });

  it('cannot be drained by cashing out to an account that is closed each time, nor to another wallet', async () => {
    // Somebody has sent lamports to the address where the treasury's account of the currency will be.
    await wallets.node.fund(accountOf(treasury), RENT_MINIMUM);
    // For the fees of closing: less than an account costs.
    await wallets.node.fund(player.wallet.address, 1_000_000n);
    const deposit = await transfer('deposit', '1000');
    await landed(deposit);
    const cashOuts: Answer[] = [];
    for (let count = 0; count < PER_USER_AND_DAY; count++) {
      await closedByPlayer();
      const cashOut = await transfer('withdraw', '10');
      await landed(cashOut);
      cashOuts.push(cashOut);
      await landed(await transfer('deposit', '10'));
    }
    await closedByPlayer();
    const balance = async () => {
      const body = { userId: player.userId, currency: GEM.id };
      const { available, held, withdrawn } = (await wallets.app.test.post('/treasury/balance', body)).json;
      return { available, held, withdrawn };
    };
    const before = await balance();
    expect(refusalOf(await transfer('withdraw', '10'))).to.deep.equal(NOT_SPONSORED);
    expect(await balance(), 'nothing is held').to.deep.equal(before);
    expect(await paidByApp(cashOuts)).to.equal(BigInt(PER_USER_AND_DAY) * RENT);

    await wallets.node.fund(player.wallet.address, RENT);
    const paidByWallet = await transfer('withdraw', '10');
    await landed(paidByWallet);
    expect(await paidByApp([paidByWallet])).to.equal(0n);
    const [found] = await wallets.rpc.transactionsOf(referenceOf(moveIdOf(paidByWallet)), { limit: 1 });
    const executed = await wallets.rpc.transaction(String(found?.signature));
    expect(executed?.signers).to.have.members([feePayer, treasury, player.wallet.address]);
    await eventually('the wallet is exported', async () => {
      const exported = await player.post(`/wallets/${player.wallet.id}/export`, { idempotencyKey: 'mine' });
      return exported.status === 200 || undefined;
    });
    expect(refusalOf(await transfer('withdraw', '10')), 'to the next wallet').to.deep.equal(NOT_SPONSORED);

    await wallets.settings({ 'test.rentSponsorPerUserPerDay': PER_USER_AND_DAY + 1 });
    const allowed = await eventually('the setting is seen', async () => {
      const answer = await transfer('withdraw', '10');
      return answer.status === 200 ? answer : undefined;
    });
    await landed(allowed);
    await wallets.settings({ 'test.rentSponsorPerUserPerDay': null });
  });

  it('is only what is missing, if somebody has sent lamports to the address beforehand', async () => {
    // The last two are not counted: there is nothing to pay, even for a wallet that holds nothing.
    for (const beforehand of [RENT_MINIMUM, RENT - 1n, RENT, RENT + 1n]) {
      const recipient = newAddress();
      await wallets.node.fund(accountOf(recipient), beforehand);
      const answer = await withdraw(recipient);
      await carried(answer);
      expect(await paidByApp([answer])).to.equal(beforehand < RENT ? RENT - beforehand : 0n);
      expect(await wallets.tokensOf(recipient)).to.equal(1n);
    }
  });
});

function ofTokenProgram(writable: readonly string[], owner: PublicKey, data: Buffer): TransactionInstruction {
  const keys = writable.map((address) => ({
    pubkey: new PublicKey(address),
    isSigner: false,
    isWritable: true,
  }));
  return new TransactionInstruction({
    programId: new PublicKey(TOKEN_PROGRAM),
    keys: [...keys, { pubkey: owner, isSigner: true, isWritable: false }],
    data,
  });
}
