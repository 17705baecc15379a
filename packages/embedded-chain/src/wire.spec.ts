import {
  AddressLookupTableAccount,
  Keypair,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'chai';
import { isSigner, isWritable, readTransaction, WireError } from './wire.ts';

const [payer, other] = [Keypair.generate(), Keypair.generate()];
const blockhash = Keypair.generate().publicKey.toBase58();
const instruction = SystemProgram.transfer({
  ...{ fromPubkey: payer.publicKey, toPubkey: other.publicKey, lamports: 5 },
});

function legacy(): Buffer {
  const transaction = new Transaction({ feePayer: payer.publicKey, blockhash, lastValidBlockHeight: 1 });
  transaction.add(instruction).sign(payer);
  return transaction.serialize();
}

function withTable(): { wire: Uint8Array; table: string } {
  const key = Keypair.generate().publicKey;
  const table = new AddressLookupTableAccount({
    key,
    state: {
      ...{ deactivationSlot: 2n ** 64n - 1n, lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0 },
      addresses: [other.publicKey],
    },
  });
  const message = new TransactionMessage({
    ...{ payerKey: payer.publicKey, recentBlockhash: blockhash, instructions: [instruction] },
  });
  const transaction = new VersionedTransaction(message.compileToV0Message([table]));
  transaction.sign([payer]);
  return { wire: transaction.serialize(), table: key.toBase58() };
}

describe('a transaction on the wire', () => {
  it('is read as clients write it, without a version', () => {
    const { message } = readTransaction(legacy());
    expect(message.version).to.equal('legacy');
    expect(message.staticKeys.slice(0, 2)).to.deep.equal(
      [payer, other].map((key) => key.publicKey.toBase58()),
    );
    expect([0, 1, 2].map((index) => isWritable(message, index))).to.deep.equal([true, true, false]);
    expect([0, 1].map((index) => isSigner(message, index))).to.deep.equal([true, false]);
    expect(message.recentBlockhash).to.equal(blockhash);
  });

  it('is read as clients write it, with a lookup table', () => {
    const { wire, table } = withTable();
    const { message } = readTransaction(wire);
    expect(message.version).to.equal(0);
    expect(message.lookups).to.deep.equal([{ table, writable: [0], readonly: [] }]);
    expect(message.instructions[0]?.accounts).to.deep.equal([0, 2]);
    expect(isWritable(message, 2)).to.equal(true);
  });

  it('is refused if anything is cut off, or follows it', () => {
    for (const whole of [legacy(), withTable().wire]) {
      for (let length = 0; length < whole.length; length += 1) {
        expect(() => readTransaction(whole.subarray(0, length)), `${length} bytes`).to.throw(WireError);
      }
      expect(() => readTransaction(Buffer.concat([whole, Buffer.of(0)]))).to.throw(
        WireError,
        'after its end',
      );
    }
  });

  const changed: readonly [string, (wire: Buffer) => void, string][] = [
    ['of an unknown version', (wire) => wire.writeUInt8(0x81, 65), 'version 1'],
    ['without a writable signer', (wire) => wire.writeUInt8(1, 66), 'no writable signer'],
    ['with fewer signatures than signers', (wire) => wire.writeUInt8(2, 65), 'signatures'],
    ['with an account twice', (wire) => wire.copyWithin(69 + 32, 69, 69 + 32), 'twice'],
    ['with a length in needless bytes', (wire) => wire.set([0x81, 0x00], 0), 'needless'],
    ['with an index beyond its accounts', (wire) => wire.writeUInt8(9, wire.length - 14), 'not there'],
    ['with the payer as its program', (wire) => wire.writeUInt8(0, wire.length - 17), 'no program'],
  ];
  for (const [what, change, why] of changed) {
    it(`is refused ${what}`, () => {
      const wire = legacy();
      change(wire);
      expect(() => readTransaction(wire)).to.throw(WireError, why);
    });
  }

  it('is refused if it does not fit into a packet', () => {
    expect(() => readTransaction(new Uint8Array(1233))).to.throw(WireError, 'too large');
  });
});
