import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import { Message, Transaction } from '@solana/web3.js';
import { expect } from 'chai';
import * as ids from '../programs/ids.ts';
import { referenceOf } from '../reference.ts';
import { MOST_SOURCES } from '../transferPlan.ts';
import { associatedTokenAddress, isOnCurve } from './addresses.ts';
import { buildTransfer, MAX_TRANSACTION_BYTES, signatureOf, type TransferOrder } from './buildTransfer.ts';

interface Keys {
  readonly address: string;
  readonly privateKey: KeyObject;
}

function keys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { address: encodeBase58(Buffer.from(x, 'base64url')), privateKey };
}

const [feePayer, from, to, mint] = [keys(), keys(), keys(), keys()];
const moveId = 'mov_01h455vb4pex5vsknk084sn02q';
const order: TransferOrder = {
  feePayer: feePayer.address,
  from: from.address,
  to: to.address,
  mint: 'native',
  amount: 2n ** 64n - 1n,
  moveId,
  blockhash: encodeBase58(Buffer.alloc(32, 9)),
  priority: { unitLimit: 40_000, microLamports: 1_000n },
  createsAccount: false,
};
const chip = { address: mint.address, program: ids.TOKEN_2022_PROGRAM, decimals: 6 };

/** For each instruction: its program, and its accounts with their permissions. */
function instructionsOf(message: Uint8Array) {
  const decoded = Message.from(Buffer.from(message));
  const accountOf = (index: number) => {
    const marks = [decoded.isAccountSigner(index) && 'signs', decoded.isAccountWritable(index) && 'writable'];
    return [decoded.accountKeys[index]?.toBase58(), ...marks.filter(Boolean)].join(' ');
  };
  return decoded.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
    program: decoded.accountKeys[programIdIndex]?.toBase58(),
    accounts: accountKeyIndexes.map(accountOf),
    data: Buffer.from(data),
  }));
}

const signed = (of: TransferOrder) => {
  const { message, withSignatures } = buildTransfer(of);
  return withSignatures([feePayer, from].map(({ privateKey }) => sign(null, message, privateKey)));
};

describe('a transfer', () => {
  it('of the native currency consists of budget, memo with the id, and transfer with the reference', () => {
    const { message, signers } = buildTransfer(order);
    expect(signers).to.deep.equal([feePayer.address, from.address]);
    const [limit, price, note, transfer, ...more] = instructionsOf(message);
    expect(more).to.deep.equal([]);
    expect(limit?.program).to.equal(ids.COMPUTE_BUDGET_PROGRAM);
    expect(price?.program).to.equal(ids.COMPUTE_BUDGET_PROGRAM);
    expect(note).to.deep.equal({ program: ids.MEMO_PROGRAM, accounts: [], data: Buffer.from(moveId) });
    expect(transfer).to.deep.equal({
      program: ids.SYSTEM_PROGRAM,
      accounts: [`${from.address} signs writable`, `${to.address} writable`, referenceOf(moveId)],
      data: Buffer.from('02000000ffffffffffffffff', 'hex'),
    });
  });

  it("of a token goes between the wallets' accounts, and makes the second if told to", () => {
    const source = associatedTokenAddress(from.address, chip.address, chip.program);
    const destination = associatedTokenAddress(to.address, chip.address, chip.program);
    const { message, signers } = buildTransfer({ ...order, mint: chip, createsAccount: true });
    expect(signers).to.deep.equal([feePayer.address, from.address]);
    const [, , create, note, transfer, ...more] = instructionsOf(message);
    expect(more).to.deep.equal([]);
    expect(create).to.deep.equal({
      program: ids.ASSOCIATED_TOKEN_PROGRAM,
      accounts: [
        `${feePayer.address} signs writable`,
        `${destination} writable`,
        to.address,
        chip.address,
        ids.SYSTEM_PROGRAM,
        chip.program,
      ],
      data: Buffer.of(1),
    });
    expect(note?.program).to.equal(ids.MEMO_PROGRAM);
    expect(transfer).to.deep.equal({
      program: chip.program,
      accounts: [
        `${source} writable`,
        chip.address,
        `${destination} writable`,
        `${from.address} signs`,
        referenceOf(moveId),
      ],
      data: Buffer.from('0cffffffffffffffff06', 'hex'),
    });
    expect(instructionsOf(buildTransfer({ ...order, mint: chip }).message)).to.have.length(4);
  });

  it("has the recipient's account paid for by the given wallet, which signs", () => {
    const other = keys().address;
    for (const rentPayer of [from.address, other]) {
      const { message, signers } = buildTransfer({ ...order, mint: chip, createsAccount: true, rentPayer });
      expect(signers[0]).to.equal(feePayer.address);
      expect(new Set(signers)).to.deep.equal(new Set([feePayer.address, from.address, rentPayer]));
      const [, , create] = instructionsOf(message);
      expect(create?.accounts[0]).to.equal(`${rentPayer} signs writable`);
    }
  });

  it('is accepted by web3.js with our signatures, and its id is the first of them', () => {
    const wire = signed({ ...order, mint: chip, createsAccount: true });
    const decoded = Transaction.from(Buffer.from(wire));
    expect(decoded.verifySignatures(true)).to.equal(true);
    expect(signatureOf(wire)).to.equal(encodeBase58(decoded.signature ?? Buffer.alloc(0)));
    expect(decoded.recentBlockhash).to.equal(order.blockhash);
    expect(wire.length).to.be.lessThan(MAX_TRANSACTION_BYTES);
  });

  it('has the same bytes for the same order, and different ones for another move', () => {
    const message = (of: TransferOrder) => Buffer.from(buildTransfer(of).message).toString('hex');
    expect(message(order)).to.equal(message({ ...order }));
    expect(message(order)).not.to.equal(message({ ...order, moveId: 'mov_01h455vb4pex5vsknk084sn02r' }));
  });

  it('is not made if the fee payer would be its source', () =>
    expect(() => buildTransfer({ ...order, feePayer: from.address })).to.throw('never the source'));

  it('is not made if it would not fit into a packet', () =>
    expect(() => buildTransfer({ ...order, moveId: 'm'.repeat(1_000) })).to.throw('does not fit'));

  it('takes one signature from each signer', () => {
    const { withSignatures } = buildTransfer(order);
    expect(() => withSignatures([Buffer.alloc(64)])).to.throw('signs once');
    expect(() => withSignatures([Buffer.alloc(64), Buffer.alloc(63)])).to.throw();
  });

  it('has a reference that never changes, and that no key can ever own', () => {
    expect(referenceOf(moveId)).to.equal('EzbJcKNrv6EuxaNTA4y4niWGXkY5amUTiUnfchyxLrcL');
    for (let n = 0; n < 64; n++) expect(isOnCurve(referenceOf(`mov_${n}`)), `mov_${n}`).to.equal(false);
  });

  it('of tokens in several accounts pays the whole from all of them, each after a memo, in one packet', () => {
    const sources = Array.from({ length: MOST_SOURCES }, (_, index) => ({
      account: keys().address,
      amount: BigInt(index + 1),
    }));
    const amount = 15n;
    const { message, signers } = buildTransfer({
      ...order,
      mint: chip,
      amount,
      sources,
      createsAccount: true,
      // Somebody other than the owner: this makes the largest possible message.
      rentPayer: keys().address,
    });
    expect(1 + 64 * signers.length + message.length).to.be.at.most(MAX_TRANSACTION_BYTES);
    const [, , , ...rest] = instructionsOf(message);
    expect(rest.map(({ program }) => program)).to.deep.equal(
      sources.flatMap(() => [ids.MEMO_PROGRAM, ids.TOKEN_2022_PROGRAM]),
    );
    const transfers = rest.filter(({ program }) => program === ids.TOKEN_2022_PROGRAM);
    const destination = associatedTokenAddress(to.address, mint.address, ids.TOKEN_2022_PROGRAM);
    for (const [index, { account, amount: part }] of sources.entries()) {
      expect(transfers[index]?.accounts).to.deep.equal([
        `${account} writable`,
        mint.address,
        `${destination} writable`,
        `${from.address} signs`,
        referenceOf(moveId),
      ]);
      expect(transfers[index]?.data.readBigUInt64LE(1)).to.equal(part);
    }
    expect(rest[0]?.data.toString()).to.equal(moveId);
  });

  it('is built from what its accounts pay, and from nothing else', () => {
    const sources = [{ account: keys().address, amount: 3n }];
    expect(() => buildTransfer({ ...order, mint: chip, amount: 4n, sources })).to.throw('All of it is paid');
  });
});
