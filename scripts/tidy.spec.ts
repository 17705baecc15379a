/**
 * A test about the code itself. When it is red, its message says what is wrong, why, and what to do instead.
 * Every rule is also tried against samples that break it, so that no rule can go blind unnoticed.
 */
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { codeRules } from './tidy/codeRules.ts';
import { documentRules } from './tidy/documentRules.ts';
import { functionRules } from './tidy/functionRules.ts';
import { importRules } from './tidy/importRules.ts';
import { manifestRules } from './tidy/manifestRules.ts';
import { patternRules } from './tidy/patternRules.ts';
import { explain, file } from './tidy/rule.ts';
import { codeOf, importsOf, packageNameOf } from './tidy/sourceText.ts';
import { readTree } from './tidy/tree.ts';

const rules = [
  ...importRules,
  ...codeRules,
  ...functionRules,
  ...manifestRules,
  ...documentRules,
  ...patternRules,
];

/** The rules must spell what they forbid, so they are not measured by themselves. */
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

  it('read every form of import, and none in a comment or a string', () => {
    const text = [
      "import 'side-effect';",
      "import type { A } from '@scope/types';",
      'import {',
      '  b,',
      "} from 'several-lines/deep';",
      "export * from './re-exported.ts';",
      "const lazy = await import('lazy');",
      "const place = import.meta.resolve('resolved');",
      "// import 'in-a-comment';",
      'const words = "import \'in-a-string\'";',
    ].join('\n');
    expect(importsOf(file('a.ts', text)).map(({ specifier, line }) => `${line} ${specifier}`)).to.deep.equal([
      '1 side-effect',
      '2 @scope/types',
      '5 several-lines/deep',
      '6 ./re-exported.ts',
      '7 lazy',
      '8 resolved',
    ]);
  });

  it('name the package of an import', () => {
    expect(packageNameOf('@coffer/event-store/memory')).to.equal('@coffer/event-store');
    expect(packageNameOf('uuid/v7')).to.equal('uuid');
    expect(packageNameOf('node:path')).to.equal(undefined);
    expect(packageNameOf('./a.ts')).to.equal(undefined);
  });

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
