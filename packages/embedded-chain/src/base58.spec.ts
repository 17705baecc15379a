import { getAssociatedTokenAddressSync, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { expect } from 'chai';
import { decodeBase58, decodeKey, encodeBase58 } from './base58.ts';
import { associatedTokenAddress, isOnCurve } from './programAddress.ts';

describe('base58', () => {
  const pairs: readonly [string, string][] = [
    ['', ''],
    ['00', '1'],
    ['0000', '11'],
    ['00ff', '15Q'],
    ['61', '2g'],
    ['626262', 'a3gV'],
    ['00'.repeat(32), '1'.repeat(32)],
    ['ff'.repeat(32), 'JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG'],
  ];
  for (const [hex, text] of pairs) {
    it(`writes ${hex || 'nothing'} as ${text || 'nothing'}, and reads it`, () => {
      expect(encodeBase58(Buffer.from(hex, 'hex'))).to.equal(text);
      expect(Buffer.from(decodeBase58(text) ?? []).toString('hex')).to.equal(hex);
    });
  }

  it('knows what is none', () => {
    for (const text of ['0', 'O', 'I', 'l', ' ', 'ä', '1'.repeat(31), '1'.repeat(33), 'z'.repeat(44)]) {
      expect(decodeKey(text), text).to.equal(undefined);
    }
  });
});

describe('an associated token address', () => {
  it('is the one that clients derive', () => {
    for (let round = 0; round < 20; round += 1) {
      const [owner, mint] = [Keypair.generate().publicKey, Keypair.generate().publicKey];
      for (const program of [TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID]) {
        const expected = getAssociatedTokenAddressSync(mint, owner, true, program).toBase58();
        const found = associatedTokenAddress(owner.toBase58(), mint.toBase58(), program.toBase58());
        expect(found).to.equal(expected);
      }
    }
  });

  it('is on no curve where a key is', () => {
    for (let round = 0; round < 20; round += 1) {
      const key = Keypair.generate().publicKey;
      expect(isOnCurve(key.toBytes())).to.equal(PublicKey.isOnCurve(key.toBytes())).and.equal(true);
    }
  });
});
