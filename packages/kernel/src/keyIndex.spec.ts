import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { KeyIndex, keyWordsOf } from './keyIndex.ts';

const wordsOf = (text: string) => [...keyWordsOf(text)];

function halfOfHash(text: string): number[] {
  const digest = createHash('sha256').update(text).digest();
  return [0, 4, 8, 12].map((at) => digest.readUInt32LE(at));
}

/** These words, written as a UUID. */
function uuidOf(words: readonly number[]): string {
  const digits = words.map((word) => word.toString(16).padStart(8, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

describe('the key of a text', () => {
  it('is the first half of its SHA-256, because snapshots hold it', () =>
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uuid()), (text) => {
        expect(wordsOf(text)).to.deep.equal(halfOfHash(text));
      }),
    ));

  it('is never that of the UUID which spells it', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(wordsOf(uuidOf(wordsOf(text)))).not.to.deep.equal(wordsOf(text));
      }),
    ));

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
  it('finds what was added, in the order of adding, with its words, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.oneof(fc.string(), fc.uuid()), { maxLength: 300, size: 'max' }),
        fc.nat(300),
        (texts, expected) => {
          const index = new KeyIndex(2, expected);
          for (const [place, text] of texts.entries()) {
            expect(index.find(keyWordsOf(text))).to.equal(-1);
            index.add(keyWordsOf(text));
            expect(index.size).to.equal(place + 1);
            index.set(place, 1, place);
          }
          for (const [place, text] of texts.entries()) {
            expect(index.find(keyWordsOf(text))).to.equal(place);
            expect([index.get(place, 0), index.get(place, 1)]).to.deep.equal([0, place]);
          }
          const half = KeyIndex.decode(index.encode(texts.length >> 1), 2);
          expect(half.size).to.equal(texts.length >> 1);
          for (const [place, text] of texts.entries()) {
            expect(half.find(keyWordsOf(text))).to.equal(place < half.size ? place : -1);
            if (place < half.size) expect(half.get(place, 1)).to.equal(place);
          }
        },
      ),
    );
  });

  it('tells apart keys that differ in one word', () => {
    const index = new KeyIndex();
    const keys = [
      [1, 1, 1, 1],
      [2, 1, 1, 1],
      [1, 2, 1, 1],
      [1, 1, 2, 1],
      [1, 1, 1, 2],
    ].map((words) => Uint32Array.from(words));
    // They may all be in one bucket: with so many of them, some are.
    for (const key of keys) {
      for (let word = 0; word < 4; word++) {
        for (let value = 10; value < 100; value++) {
          const other = Uint32Array.from(key, (same, at) => (at === word ? value : same));
          if (index.find(other) < 0) index.add(other);
        }
      }
    }
    for (const key of keys) expect(index.find(key), key.join()).to.equal(-1);
    expect(index.size).to.equal(4 * 90 + 4 * 3 * 90);
  });

  it('finds each of very many, while it grows', () => {
    const index = new KeyIndex(0);
    const texts = Array.from({ length: 5_000 }, () => randomUUID());
    for (const text of texts) {
      index.add(keyWordsOf(text));
      expect(index.find(keyWordsOf(texts[index.size >> 1] ?? ''))).to.equal(index.size >> 1);
    }
    for (const [place, text] of texts.entries()) expect(index.find(keyWordsOf(text))).to.equal(place);
    expect(index.find(keyWordsOf(randomUUID()))).to.equal(-1);
  });

  it('looks at a few rows for a key, however many there are', () => {
    const index = new KeyIndex();
    for (let count = 1; count <= 20_000; count++) index.add(keyWordsOf(randomUUID()));
    let reads = 0;
    for (let search = 0; search < 1_000; search++) {
      const counting = new Proxy(Uint32Array.from(keyWordsOf(randomUUID())), {
        get(words, at) {
          if (at === '0') reads += 1;
          return Reflect.get(words, at);
        },
      });
      expect(index.find(counting)).to.equal(-1);
    }
    // Once to hash the key, and once for each row.
    expect(reads / 1_000).to.be.below(5);
  });

  it('does not need another block in the same moment as others', () => {
    const indexes = Array.from({ length: 1_000 }, () => new KeyIndex());
    for (const index of indexes) index.add(keyWordsOf(randomUUID()));
    for (let size = 2; size <= 300; size++) {
      let grown = 0;
      for (const index of indexes) {
        const { bytes } = index;
        index.add(keyWordsOf(randomUUID()));
        if (index.bytes > bytes) grown += 1;
      }
      expect(grown, `to ${size} keys`).to.be.below(350);
    }
  });

  it('takes nothing until there is a key', () => {
    expect(new KeyIndex(2, 300).bytes).to.equal(0);
  });

  /** Its first word decides how large the first block is. */
  const FIRST_KEYS = [0, 1, 2, 3].map((word) => Uint32Array.of(word, 0, 0, 0));

  it('takes room for all keys that are expected with the first, and no more than if it had grown', () => {
    for (const expected of [3, 9, 40, 64, 65, 300, 100_000]) {
      for (const firstKey of FIRST_KEYS) {
        const index = new KeyIndex(2, expected);
        const grown = new KeyIndex(2);
        for (const each of [index, grown]) each.add(firstKey);
        const bytesOfAll = index.bytes;
        for (let count = 2; count <= expected; count++) {
          const key = keyWordsOf(randomUUID());
          for (const each of [index, grown]) each.add(key);
        }
        expect([index.bytes, grown.bytes], `${expected} keys`).to.deep.equal([bytesOfAll, bytesOfAll]);
      }
    }
  });

  it('takes 29.04 bytes a key and 2,000 more at the most, whatever the size of its first block', () => {
    const firstSizes = new Set<number>();
    for (const firstKey of FIRST_KEYS) {
      const index = new KeyIndex();
      index.add(firstKey);
      firstSizes.add(index.bytes);
      while (index.size < 20_000) {
        index.add(keyWordsOf(randomUUID()));
        expect(index.bytes, `${index.size} keys`).to.be.at.most(29.04 * index.size + 2_000);
      }
    }
    expect(firstSizes.size).to.equal(FIRST_KEYS.length);
  });
});
