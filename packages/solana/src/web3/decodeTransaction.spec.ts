import { randomBytes } from 'node:crypto';
import {
  AddressLookupTableAccount,
  Keypair,
  type MessageV0,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Address, ChainAccount } from '../port.ts';
import { LOOKUP_TABLE_PROGRAM } from '../programs/inspectedIds.ts';
import { resolveLookups } from '../resolveLookups.ts';
import { decodeTransaction, TransactionFormatError, withSignature } from './decodeTransaction.ts';

const payer = Keypair.generate();
const [recipient, tableKey] = [Keypair.generate().publicKey, Keypair.generate().publicKey];
const blockhash = new PublicKey(randomBytes(32)).toBase58();
const table = (addresses: PublicKey[], deactivationSlot = 2n ** 64n - 1n) =>
  new AddressLookupTableAccount({
    key: tableKey,
    state: { deactivationSlot, lastExtendedSlot: 1, lastExtendedSlotStartIndex: 0, addresses },
  });

const message = () =>
  new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions: [SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: recipient, lamports: 5 })],
  });
const wireOf = (compiled: MessageV0 | ReturnType<TransactionMessage['compileToLegacyMessage']>) => {
  const transaction = new VersionedTransaction(compiled);
  transaction.sign([payer]);
  return transaction.serialize();
};
const legacy = () => wireOf(message().compileToLegacyMessage());
const versioned = () => wireOf(message().compileToV0Message());
const withTable = () => wireOf(message().compileToV0Message([table([recipient])]));

const faultOf = (wire: Uint8Array) => {
  try {
    decodeTransaction(wire);
    return undefined;
  } catch (error) {
    if (error instanceof TransactionFormatError) return error.fault;
    throw error;
  }
};
const altered = (wire: Uint8Array, at: number, ...bytes: number[]) => {
  const copy = Uint8Array.from(wire);
  copy.set(bytes, at);
  return copy;
};
const spliced = (wire: Uint8Array, at: number, remove: number, ...bytes: number[]) =>
  Uint8Array.from([...wire.slice(0, at), ...bytes, ...wire.slice(at + remove)]);

describe('the bytes of a transaction', () => {
  for (const [version, wire] of [
    ['legacy', legacy()],
    [0, versioned()],
  ] as const) {
    it(`are read: version ${version}`, () => {
      const decoded = decodeTransaction(wire);
      expect(decoded.version).to.equal(version);
      expect(decoded.staticKeys).to.deep.equal([
        payer.publicKey.toBase58(),
        recipient.toBase58(),
        SystemProgram.programId.toBase58(),
      ]);
      expect(decoded.header).to.deep.equal({ requiredSignatures: 1, readonlySigned: 0, readonlyUnsigned: 1 });
      expect(decoded.recentBlockhash).to.equal(blockhash);
      expect(decoded.signatures).to.deep.equal([wire.slice(1, 65)]);
      expect(decoded.message).to.deep.equal(wire.slice(65));
      expect(decoded.instructions).to.deep.equal([
        {
          programId: SystemProgram.programId.toBase58(),
          accounts: [0, 1],
          data: Uint8Array.from([2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]),
        },
      ]);
    });

    it(`accept a signature in its place: version ${version}`, () => {
      const unsigned = decodeTransaction(altered(wire, 1, ...new Uint8Array(64)));
      const signed = withSignature(unsigned, payer.publicKey.toBase58(), wire.slice(1, 65));
      expect(signed).to.deep.equal(Uint8Array.from(wire));
      expect(() => withSignature(unsigned, recipient.toBase58(), wire.slice(1, 65))).to.throw();
    });
  }

  const rows: readonly (readonly [what: string, wire: Uint8Array, fault: string])[] = [
    ['nothing', new Uint8Array(), 'size'],
    ['more than a packet', new Uint8Array(1_233), 'size'],
    ['a byte too many', Uint8Array.from([...legacy(), 0]), 'not_canonical'],
    ['a byte too many, in version 0', Uint8Array.from([...versioned(), 0]), 'not_canonical'],
    ['a byte too few', legacy().slice(0, -1), 'malformed'],
    ['a padded number of signatures', spliced(legacy(), 0, 1, 0x81, 0x00), 'unsupported_version'],
    ['a padded number of keys', spliced(legacy(), 68, 1, 0x83, 0x00), 'not_canonical'],
    ['version 1', altered(versioned(), 65, 0x81), 'unsupported_version'],
    ['a format that puts its version first', altered(versioned(), 0, 0x81), 'unsupported_version'],
    [
      'an off-chain message',
      spliced(versioned(), 65, 1, 0xff, ...Buffer.from('solana offchain')),
      'unsupported_version',
    ],
    [
      'one signature more than required',
      spliced(legacy(), 0, 1, 2, ...new Uint8Array(64)),
      'signature_count',
    ],
    ['no signature', spliced(altered(legacy(), 65, 0), 0, 65, 0), 'header'],
    ['a payer that is read-only', altered(legacy(), 66, 1), 'header'],
    ['more read-only keys than keys', altered(legacy(), 67, 3), 'header'],
    ['one key twice', altered(legacy(), 69 + 32, ...payer.publicKey.toBytes()), 'duplicate_account'],
    ['a missing program', altered(legacy(), legacy().length - 17, 9), 'account_index'],
    ['the payer as a program', altered(legacy(), legacy().length - 17, 0), 'account_index'],
    ['a missing account', altered(legacy(), legacy().length - 14, 3), 'account_index'],
    [
      'a lookup of nothing',
      Uint8Array.from([...versioned().slice(0, -1), 1, ...tableKey.toBytes(), 0, 0]),
      'lookup_table',
    ],
    [
      'more accounts than the runtime accepts',
      Uint8Array.from([...versioned().slice(0, -1), 1, ...tableKey.toBytes(), 62, ...Array(62).keys(), 0]),
      'too_many_accounts',
    ],
  ];
  for (const [what, wire, fault] of rows) {
    it(`are refused: ${what}`, () => expect(faultOf(wire)).to.equal(fault));
  }

  it('are read for what they are or refused, whatever was done to them, and no two are read alike', () => {
    const valid = [legacy(), versioned(), withTable()];
    fc.assert(
      fc.property(
        fc.constantFrom(...valid),
        fc.array(
          fc.record({
            at: fc.nat(1_300),
            remove: fc.nat(3),
            insert: fc.uint8Array({ maxLength: 3 }),
          }),
          { maxLength: 4 },
        ),
        (wire, changes) => {
          let changed = wire;
          for (const { at, remove, insert } of changes) {
            changed = spliced(changed, at % (changed.length + 1), remove, ...insert);
          }
          const fault = faultOf(changed);
          if (fault !== undefined) return;
          const { message: signed, version, signatures } = decodeTransaction(changed);
          // Everything signed is after the signatures, so nothing in it can escape the decoding.
          expect(Buffer.concat([Buffer.of(signatures.length), ...signatures, signed])).to.deep.equal(
            Buffer.from(changed),
          );
          expect(VersionedTransaction.deserialize(changed).version).to.equal(version);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe('the accounts of a transaction', () => {
  const tableAccount = (
    addresses: PublicKey[],
    given: Partial<ChainAccount> & { deactivationSlot?: bigint; kind?: number } = {},
  ): ChainAccount => {
    const { deactivationSlot = 2n ** 64n - 1n, kind = 1, ...other } = given;
    const data = Buffer.alloc(56 + 32 * addresses.length);
    data.writeUInt32LE(kind, 0);
    data.writeBigUInt64LE(deactivationSlot, 4);
    for (const [index, address] of addresses.entries()) data.set(address.toBytes(), 56 + 32 * index);
    const { toBase58 } = tableKey;
    return {
      address: toBase58.call(tableKey),
      owner: LOOKUP_TABLE_PROGRAM,
      lamports: 1n,
      data,
      isExecutable: false,
      ...other,
    };
  };
  const chainWith = (account: ChainAccount | undefined) => {
    const asked: unknown[] = [];
    return {
      asked,
      accounts: async (addresses: readonly Address[], commitment: string) => {
        asked.push([addresses, commitment]);
        return addresses.map(() => account);
      },
    };
  };
  const faultWith = async (account: ChainAccount | undefined) => {
    try {
      await resolveLookups(chainWith(account), decodeTransaction(withTable()));
      return undefined;
    } catch (error) {
      if (error instanceof TransactionFormatError) return error.fault;
      throw error;
    }
  };

  it('include those of the lookup table', async () => {
    const chain = chainWith(tableAccount([recipient]));
    const resolved = await resolveLookups(chain, decodeTransaction(withTable()));
    expect(resolved.decoded.staticKeys).not.to.include(recipient.toBase58());
    expect(resolved.instructions[0]?.accounts).to.deep.equal([
      { address: payer.publicKey.toBase58(), isSigner: true, isWritable: true, fromLookup: false },
      { address: recipient.toBase58(), isSigner: false, isWritable: true, fromLookup: true },
    ]);
    expect(chain.asked).to.deep.equal([[[tableKey.toBase58()], 'finalized']]);
  });

  it('have the roles that web3.js gives them', async () => {
    const { decoded, accounts } = await resolveLookups(chainWith(undefined), decodeTransaction(versioned()));
    const { message: same } = VersionedTransaction.deserialize(versioned());
    for (const [index, account] of accounts.entries()) {
      expect(account.isSigner).to.equal(same.isAccountSigner(index));
      expect(account.isWritable).to.equal(same.isAccountWritable(index));
    }
    expect(accounts).to.have.length(decoded.staticKeys.length);
  });

  it('need no node if there is no lookup', async () => {
    const chain = chainWith(undefined);
    await resolveLookups(chain, decodeTransaction(legacy()));
    expect(chain.asked).to.deep.equal([]);
  });

  const rows: readonly (readonly [what: string, account: ChainAccount | undefined, fault: string])[] = [
    ['is missing', undefined, 'lookup_table'],
    ['belongs to another program', tableAccount([recipient], { owner: '1'.repeat(32) }), 'lookup_table'],
    ['has been deactivated', tableAccount([recipient], { deactivationSlot: 100n }), 'lookup_table'],
    ['does not exist yet', tableAccount([recipient], { kind: 0 }), 'lookup_table'],
    ['is too short', tableAccount([]), 'lookup_table'],
    ['has no header', tableAccount([], { data: new Uint8Array(8) }), 'lookup_table'],
    ['names the payer again', tableAccount([payer.publicKey]), 'duplicate_account'],
  ];
  for (const [what, account, fault] of rows) {
    it(`are refused if the table ${what}`, async () => expect(await faultWith(account)).to.equal(fault));
  }

  it('are reported as not final yet if the table has just been made or extended', async () => {
    for (const finalized of [undefined, tableAccount([])]) {
      const chain = {
        accounts: async (_: readonly string[], commitment: string) => [
          commitment === 'finalized' ? finalized : tableAccount([recipient]),
        ],
      };
      const fault = await resolveLookups(chain, decodeTransaction(withTable())).then(
        () => undefined,
        (error: unknown) => error instanceof TransactionFormatError && error.fault,
      );
      expect(fault).to.equal('lookup_table_not_final');
    }
  });
});
