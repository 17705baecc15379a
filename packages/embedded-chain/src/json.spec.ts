import { expect } from 'chai';
import { parseJson, writeJson } from './json.ts';

describe('exact JSON', () => {
  it('keeps every digit of whole numbers', () => {
    const text =
      '{"a":18446744073709551615,"b":[1,-9007199254740993],"c":0.5,"d":null,"e":"18446744073709551615"}';
    expect(writeJson(parseJson(text))).to.equal(text);
    expect(parseJson('18446744073709551615')).to.equal(2n ** 64n - 1n);
    expect(parseJson('9007199254740991')).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it('leaves out what is undefined, as JSON does', () => {
    expect(writeJson({ a: undefined, b: [undefined, true], '"': 1n })).to.equal('{"b":[null,true],"\\"":1}');
  });
});
