import { createPublicKey, verify } from 'node:crypto';
import { expect } from 'chai';
import { generateKeyPair, publicKeyOf, sign } from './ed25519.ts';

const hex = (text: string) => Buffer.from(text, 'hex');
const SPKI_PREFIX = hex('302a300506032b6570032100');

describe('ed25519', () => {
  it('derives and signs as RFC 8032, section 7.1, test 3 says', () => {
    const seed = hex('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7');
    expect(publicKeyOf(seed).toString('hex')).to.equal(
      'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    );
    expect(sign(seed, hex('af82')).toString('hex')).to.equal(
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    );
  });

  it('generates a new seed with its public key each time', () => {
    const [one, two] = [generateKeyPair(), generateKeyPair()];
    expect(one.seed).to.have.length(32);
    expect(publicKeyOf(one.seed).equals(one.publicKey)).to.equal(true);
    expect(one.seed.equals(two.seed)).to.equal(false);

    const key = createPublicKey({
      key: Buffer.concat([SPKI_PREFIX, one.publicKey]),
      format: 'der',
      type: 'spki',
    });
    const message = Buffer.from('a message');
    expect(verify(null, message, key, sign(one.seed, message))).to.equal(true);
  });
});
