import { expect } from 'chai';
import { expressionTest } from './expressions.ts';
import { RefusalError } from './refusals.ts';

/** The answers of .NET, for texts that match and texts that do not. */
const MATCHES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['^[^$].*', ['user', 'a'], ['$user', '']],
  ['^user|^company', ['user-1', 'company'], ['a user', '']],
  ['^(?!(\\$.+$|PersistentConfig\\d+$))', ['user', '$', 'PersistentConfigs'], ['$user', 'PersistentConfig1']],
  ['^(?!a)(?!b)(?=.c).+$', ['cc', 'xcx'], ['ac', 'bc', 'cd']],
  ['\\A(?!a)[|)]', [')', '|'], ['a|', 'x']],
  ['\\Auser\\z', ['user'], ['user\n', 'a user']],
  ['user\\Z', ['user', 'a user\n'], ['user\n\n', 'users']],
  ['(?:user$|b)', ['user', 'user\n', 'b'], ['user\n\n', 'users']],
  ['^\\p{L}+$', ['é', 'abc'], ['1', '']],
  ['^\\p{Lu}\\P{Lu}$', ['Éa', 'A1'], ['éa', 'AA']],
  ['^\\d+$', ['12', '١'], ['a', '']],
  ['^[\\d_]\\D$', ['1a', '_-'], ['11', 'aa']],
  ['^\\w\\W$', ['é-', '_ ', 'a😀'], ['--', 'ab']],
  ['^[\\w.]+\\s\\S$', ['a.é\u00a0b', '1\t2'], ['a b c', '- b']],
  ['(?i)^USER', ['user', 'USER', 'uSer-1'], ['a user']],
  ['^a(?i:B)c$', ['abc', 'aBc'], ['ABC', 'abC']],
  ['^(?n)(a)(?-i)b$', ['ab'], ['aB']],
  ["^(?<first>a)(?'second'b)$", ['ab'], ['a']],
  ['^\\x41\\u0042\\cI\\e\\0$', ['AB\t\x1b\0'], ['AB']],
  ['^[]a]$', [']', 'a'], ['[']],
  ['^[[:a]$', ['[', ':', 'a'], ['b', ']']],
  ['^[\\b(?:)$]$', ['\b', '(', '?', '$'], ['b']],
  ['^a.b$', ['axb', 'a\rb'], ['a\nb']],
  ['^(?s)a.b$', ['a\nb'], ['ab']],
  ['^a{2,3}?b*?$', ['aa', 'aaabb'], ['a']],
  ['^a\\.b\\-c\\/d\\ e\\#$', ['a.b-c/d e#'], ['axb-c/d e#']],
  ['[a-z]{', ['a{'], ['a']],
];

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['\\Gabc', /write \^ for \\G/],
  ['\\bword', /the characters around the word/],
  ['a(?!b)', /at the beginning only/],
  ['(?!a)b', /at the beginning only/],
  ['^(?!a)b|c', /into a group/],
  ['(?<=a)b', /at the beginning only/],
  ['(?>a)b', /atomic groups/],
  ['(a)\\1', /cannot be referred to/],
  ['\\k<name>', /cannot be referred to/],
  ['[\\w-[aeiou]]', /without subtracting/],
  ['[a\\W]', /outside of brackets/],
  ['(?x) a b', /options i, n and s/],
  ['(?m)^a$', /options i, n and s/],
  ['\\p{IsGreek}', /IsGreek/],
  ['\\q', /means nothing/],
  ['\\ud83d', /a character whole/],
  ['a$b', /nothing can follow the end/],
  ['a++', /\+\+/],
  ['(a', /missing closing/],
  ['^(?!a', /not closed/],
  ['a)', /unexpected/],
  ['[a', /missing closing/],
  ['\\', /means nothing/],
  ['a{1001}', /repeat count/],
  ['(?:a{20}){30}', /is too large/],
  ['x'.repeat(1_001), /at most 1000 characters/],
];

describe('an expression of a filter', () => {
  for (const [source, matching, others] of MATCHES) {
    it(`means here what it means to the server: ${source}`, () => {
      const test = expressionTest(source);
      expect(matching.filter((text) => !test(text))).to.deep.equal([]);
      expect(others.filter(test)).to.deep.equal([]);
    });
  }

  for (const [source, says] of REFUSED) {
    it(`that means nothing here is refused, with what to write instead: ${source.slice(0, 30)}`, () => {
      expect(() => expressionTest(source)).to.throw(RefusalError, says);
    });
  }

  it('takes time linear in the text, even if backtracking would take for ever', () => {
    for (const source of ['^(a+)+$', '^(a|aa)+$', '(a*)*b', '^(?!(a+)+$)']) {
      expect(expressionTest(source)(`${'a'.repeat(50_000)}!`)).to.equal(source.includes('?!'));
    }
  });
});
