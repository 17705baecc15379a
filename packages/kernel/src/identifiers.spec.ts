import { expect } from 'chai';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { callerId, idFromParts, isId, longCallerId, newId, uuidFromParts } from './identifiers.ts';

describe('an id of ours', () => {
  it('is its prefix, an underscore and 26 characters of lower-case base32', () =>
    expect(newId('ses')).to.match(/^ses_[0-7][0-9a-hjkmnp-tv-z]{25}$/));

  it('is different each time', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('usr'));
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('is recognized by its form', () => {
    const id = newId('app');
    const suffix = id.slice('app_'.length);
    expect(isId('app', id)).to.equal(true);
    for (const other of [
      '',
      'app',
      'app_',
      suffix,
      `usr_${suffix}`,
      `app-${suffix}`,
      `App_${suffix}`,
      id.toUpperCase(),
      id.slice(0, -1),
      `${id}0`,
      `${id}\n`,
      ` ${id}`,
      `app_8${suffix.slice(1)}`,
      `app_${suffix.slice(1)}i`,
      `app_${suffix.slice(1)}l`,
      `app_${suffix.slice(1)}o`,
      `app_${suffix.slice(1)}u`,
    ]) {
      expect(isId('app', other), JSON.stringify(other)).to.equal(false);
    }
  });
});

describe('an id derived from its parts', () => {
  it('keeps its value for ever, because it is on disk', () => {
    expect(uuidFromParts('account', 'deposit:r1')).to.equal('b39b5d9e-ef2c-5357-bfc0-08e64e315f72');
    expect(idFromParts('ses', 'app_1', 'test', 'open-1')).to.equal('ses_5t8ehp73r8a3pbwf2fzbcs4ewg');
  });

  it('has the form of every other id', () =>
    fc.assert(
      fc.property(fc.array(fc.string()), (parts) => {
        expect(isId('ses', idFromParts('ses', ...parts))).to.equal(true);
      }),
    ));

  it('is a UUIDv5 of the parts as JSON, in the namespace of Coffer', () =>
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (parts) => {
        const expected = v5(JSON.stringify(parts), '6f6b1f0e-8f57-5d0c-9c0e-3c1f7d2a4b61');
        expect(uuidFromParts(...parts)).to.equal(expected);
      }),
    ));

  it('differs when the same characters are split differently', () => {
    expect(idFromParts('ses', 'ab', 'c')).not.to.equal(idFromParts('ses', 'a', 'bc'));
    expect(idFromParts('ses', 'a,b')).not.to.equal(idFromParts('ses', 'a', 'b'));
    expect(idFromParts('ses', 'a', '')).not.to.equal(idFromParts('ses', 'a'));
  });

  it('differs when any part differs', () =>
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (left, right) => {
        const isSame = JSON.stringify(left) === JSON.stringify(right);
        expect(uuidFromParts(...left) === uuidFromParts(...right)).to.equal(isSame);
      }),
    ));
});

describe("a caller's id", () => {
  it('is 1 to 64 characters of the restricted charset', () => {
    for (const text of ['a', '0', 'A-z.0_9:b', 'x'.repeat(64), '..', ':']) {
      expect(callerId.safeParse(text).success, text).to.equal(true);
    }
    for (const text of [
      '',
      ' ',
      'a b',
      'a/b',
      'a\n',
      'ä',
      'a%20',
      '{a}',
      'x'.repeat(65),
      1,
      null,
      undefined,
    ]) {
      expect(callerId.safeParse(text).success, JSON.stringify(text)).to.equal(false);
    }
  });

  it('is up to 128 characters where it names a move or a payout', () => {
    expect(longCallerId.safeParse('x'.repeat(128)).success).to.equal(true);
    expect(longCallerId.safeParse('x'.repeat(129)).success).to.equal(false);
    expect(longCallerId.safeParse('').success).to.equal(false);
  });
});
