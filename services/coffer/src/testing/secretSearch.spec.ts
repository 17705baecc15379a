import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { findCodes, findSecrets } from './secretSearch.ts';

const NAME = 'Zoë "Quokka" O’Hara';
const TOKEN = 'sk_test_0123456789abcdefghjkmnpqrstvwxyz01234567';
const KEY = randomBytes(32);

const around = (text: string) => `before ${text} behind`;
const encodedIn = (value: string | Buffer, before: number, encoding: 'base64' | 'base64url' | 'hex') =>
  Buffer.concat([randomBytes(before), Buffer.from(value), randomBytes(before)]).toString(encoding);

describe('the search for secrets', () => {
  const texts: Readonly<Record<string, (value: string) => string>> = {
    'as they are': (value) => value,
    'in capitals': (value) => value.toUpperCase(),
    'in JSON': (value) => JSON.stringify({ deep: [{ value }] }),
    'in JSON as a text in JSON': (value) => JSON.stringify({ body: JSON.stringify({ value }) }),
    'in JSON of ASCII': (value) =>
      JSON.stringify({ value }).replaceAll(
        /[^\x20-\x7e]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    'in a URL': (value) => `https://x.example/?q=${encodeURIComponent(value)}`,
    'in a form': (value) => new URLSearchParams({ q: value }).toString(),
    'as Node shows objects': (value) => inspect({ value }),
    'as Node shows bytes in JSON': (value) => JSON.stringify(Buffer.from(value)),
  };
  for (const [how, write] of Object.entries(texts)) {
    it(`finds them ${how}`, () => {
      for (const value of [NAME, TOKEN, 'ada.quokka+coffer@player.example', '7312554981204733']) {
        const place = { name: 'the log', text: around(write(value)) };
        const found = findSecrets([place], [{ name: 'it', value }]);
        expect(found.length, value).to.be.greaterThan(0);
        expect(found[0]).to.match(/^it \(.+\) in the log$/);
      }
    });
  }

  for (const encoding of ['base64', 'base64url', 'hex'] as const) {
    it(`finds them in ${encoding} of something longer, wherever they begin`, () => {
      for (const value of [NAME, TOKEN, KEY]) {
        for (const before of [0, 1, 2, 3, 4]) {
          const text = around(encodedIn(value, before, encoding));
          expect(findSecrets([{ name: 'x', text }], [{ name: 'it', value }])).not.to.deep.equal([]);
        }
      }
    });
  }

  it('finds bytes in base58, as numbers and as they are', () => {
    const secrets = [{ name: 'it', value: KEY }];
    for (const text of [encodeBase58(KEY), KEY.join(), KEY.join(', '), KEY.toString('latin1')]) {
      expect(findSecrets([{ name: 'x', text: around(text) }], secrets)).not.to.deep.equal([]);
    }
  });

  it('finds nothing where nothing is, and does not look for what chance could write', () => {
    const text = randomBytes(100_000).toString('base64') + randomBytes(100_000).toString('hex');
    const secrets = [NAME, TOKEN, KEY].map((value) => ({ name: 'it', value }));
    expect(findSecrets([{ name: 'x', text }], secrets)).to.deep.equal([]);
    expect(() => findSecrets([], [{ name: 'it', value: 'Ada' }])).to.throw('too few');
  });

  it('finds codes, and tells them from times and figures', () => {
    const find = (text: string) => findCodes([{ name: 'x', text }], ['123456']);
    for (const text of [
      'your code is 123456',
      '{"code":"123456"}',
      '(123456,ada)',
      'code=123456&',
      Buffer.from('code 123456').toString('hex'),
      Buffer.from('the code 123456').toString('base64'),
    ]) {
      expect(find(text), text).not.to.deep.equal([]);
    }
    for (const text of [
      '2026-01-01 10:11:12.123456+00',
      'abc123456def',
      '1234567',
      'heap_bytes{kind="x"} 123456\nnext 1',
    ]) {
      expect(find(text), text).to.deep.equal([]);
    }
  });
});
