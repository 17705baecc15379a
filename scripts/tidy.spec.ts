/**
 * A test of the code itself. When it fails, its message says what is wrong, why, and what to do instead.
 * Every rule is also tried against samples that break it, so that no rule goes blind unnoticed.
 */
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { codeRules } from './tidy/codeRules.ts';
import { documentRules } from './tidy/documentRules.ts';
import { functionRules } from './tidy/functionRules.ts';
import { manifestRules } from './tidy/manifestRules.ts';
import { patternRules } from './tidy/patternRules.ts';
import { explain } from './tidy/rule.ts';
import { codeOf } from './tidy/sourceText.ts';
import { readTree } from './tidy/tree.ts';

const rules = [...codeRules, ...functionRules, ...manifestRules, ...documentRules, ...patternRules];

/** The rules must spell out what they forbid, so they are not checked themselves. */
const isTidyItself = (path: string) => path.startsWith('scripts/tidy');

describe('the code', () => {
  const tree = readTree(fileURLToPath(new URL('..', import.meta.url))).filter(
    ({ path }) => !isTidyItself(path),
  );

  for (const rule of rules) {
    it(rule.title, () => {
      const findings = rule.find(tree);
      if (findings.length > 0) expect.fail(explain(rule, findings));
    });
  }
});

describe('the rules about the code', () => {
  for (const rule of rules) {
    it(`see what breaks: ${rule.title}`, () => {
      for (const sample of rule.refuses)
        expect(rule.find(sample), JSON.stringify(sample)).not.to.deep.equal([]);
      for (const sample of rule.accepts) expect(rule.find(sample), JSON.stringify(sample)).to.deep.equal([]);
    });
  }

  it('tell code from comments, strings and regular expressions', () => {
    const code = codeOf(
      "const a = /['\"]/.test(b); // c\nconst url = 'http://d'; e(`f //g`); /* h\n */ i();",
    );
    expect(code).to.match(/const a = .*test\(b\); {5}\n/);
    expect(code).not.to.match(/c$|http|h\n/m);
    expect(code).to.include('e(`f //g`)');
    expect(code).to.include('i();');
  });
});
