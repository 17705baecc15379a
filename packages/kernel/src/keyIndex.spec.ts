import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { KeyIndex, keyWordsOf } from './keyIndex.ts';

const wordsOf = (text: string) => [...keyWordsOf(text)];

describe('the key of a text', () => {
  it('is the text itself where that is a UUID as it is usually written', () => {
    expect(wordsOf('00112233-4455-6677-8899-aabbccddeeff')).to.deep.equal([
      0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff,
    ]);
  });

  it('tells apart what differs in a letter, its case or its length', () => {
    const uuid = 'a0112233-4455-6677-8899-aabbccddeeff';
    const texts = [
      uuid,
      uuid.toUpperCase(),
      `${uuid.slice(0, -1)}e`,
      uuid.slice(1),
      `${uuid}f`,
      uuid.replaceAll('-', '_'),
      uuid.replace('a0', 'g0'),
      uuid.replace('-', '0'),
      'bet-1',
      'bet-2',
      '',
    ];
    const keys = texts.map((text) => wordsOf(text).join());
    expect(new Set(keys).size).to.equal(texts.length);
  });
});

describe('an index of keys', () => {
  it('finds what was added, in the order of adding, and nothing else', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(fc.string(), fc.uuid()), { maxLength: 300 }), (texts) => {
        const index = new KeyIndex();
        for (const [place, text] of texts.entries()) {
          expect(index.find(keyWordsOf(text))).to.equal(-1);
          index.add(keyWordsOf(text));
          expect(index.size).to.equal(place + 1);
        }
        for (const one of [index, KeyIndex.decode(index.encode())]) {
          for (const [place, text] of texts.entries()) expect(one.find(keyWordsOf(text))).to.equal(place);
        }
        const half = KeyIndex.decode(index.encode(texts.length >> 1));
        for (const [place, text] of texts.entries()) {
          expect(half.find(keyWordsOf(text))).to.equal(place < half.size ? place : -1);
        }
      }),
    );
  });

  it('takes at most 29 bytes a key', () => {
    const index = new KeyIndex();
    for (let count = 1; count <= 20_000; count++) {
      index.add(keyWordsOf(randomUUID()));
      if (count > 500) expect(index.bytes / count, `${count} keys`).to.be.at.most(29);
    }
  });
});
