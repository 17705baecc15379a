import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { decodeBase58, decodeBase58Address, encodeBase58, isBase58Address } from './base58.ts';

describe('base58', () => {
  it('writes leading zero bytes as ones', () => {
    expect(encodeBase58(new Uint8Array(32))).to.equal('1'.repeat(32));
    expect(encodeBase58(Buffer.from('0000287fb4cd', 'hex'))).to.equal('11233QC4');
  });

  const pairs: readonly [hex: string, text: string][] = [
    ['', ''],
    ['00', '1'],
    ['0000', '11'],
    ['00ff', '15Q'],
    ['61', '2g'],
    ['626262', 'a3gV'],
    ['ff'.repeat(32), 'JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG'],
  ];
  for (const [hex, text] of pairs) {
    it(`writes ${hex || 'nothing'} as ${text || 'nothing'}, and reads it`, () => {
      expect(encodeBase58(Buffer.from(hex, 'hex'))).to.equal(text);
      expect(Buffer.from(decodeBase58(text) ?? []).toString('hex')).to.equal(hex);
    });
  }

  const rows: readonly [text: string, isAddress: boolean][] = [
    ['So11111111111111111111111111111111111111112', true],
    ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', true],
    ['1'.repeat(32), true],
    ['1'.repeat(31), false],
    ['1'.repeat(33), false],
    ['So1111111111111111111111111111111111111111l2', false],
    ['0o11111111111111111111111111111111111111112', false],
    ['', false],
    ['native', false],
    ['z'.repeat(44), false],
    ['2'.repeat(10_000), false],
  ];
  for (const [text, isAddress] of rows) {
    it(`${isAddress ? 'takes' : 'refuses'} ${text.slice(0, 50)} as an address`, () => {
      expect(isBase58Address(text)).to.equal(isAddress);
    });
  }

  it('reads back any 32 bytes', () => {
    for (let length = 0; length < 200; length++) {
      const bytes = randomBytes(32);
      // Leading zeros are encoded separately from the number.
      bytes.fill(0, 0, length % 33);
      expect(decodeBase58Address(encodeBase58(bytes))).to.deep.equal(bytes);
    }
  });
});
