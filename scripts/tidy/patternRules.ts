/** How the time of regular expressions grows: what a stranger sends must not cost more than its length. */
import { analyse } from 'scslre';
import { isSource, isTestCode, workspaceOf } from './architecture.ts';
import { eachFile, type Finding, file, matches, type Rule } from './rule.ts';
import { codeOf, patternsOf } from './sourceText.ts';

const isProduct = (path: string) => isSource(path) && workspaceOf(path) !== undefined && !isTestCode(path);

/** These never meet outside input: only those who run the service write what they match. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  // The digits of a balance: at most 255.
  'packages/embedded-chain/src/tokens.ts': ['0+$'],
  // A file name in our own folder; what the operating system lists.
  'packages/embedded-postgres/src/place.ts': ['^postgres\\.json\\..*?(\\d+)$'],
  'packages/embedded-postgres/src/processes.ts': ['^\\s*(\\S+)\\s+(.*)$'],
  // Settings, read once.
  'packages/event-store/src/eventstoredb/address.ts': [
    '^esdb(\\+discover)?:\\/\\/([^/?@]+@)?([^/?@]+?)[,/]*(\\?.*)?$',
    '\\/+$',
  ],
  'services/coffer/src/cli/connection.ts': ['\\/+$'],
  'services/coffer/src/config.ts': ['^[^\\r\\n]+@[^\\r\\n]+$'],
};

/** These build an expression at run time, and say there what bounds it. */
const BUILDERS: readonly string[] = [
  // From our own schemas, for the examples in the documentation.
  'packages/http/src/exampleOf.ts',
  // One per list of names; the spec of the log measures them.
  'packages/http/src/redact.ts',
  // One repetition with an upper limit.
  'packages/kernel/src/identifiers.ts',
  // The operator's file of certificates, read once.
  'services/coffer/src/storeGateway.ts',
];

const linearPatterns: Rule = {
  title: 'matches what comes from outside in linear time',
  why: 'if two repetitions can match the same characters, the time grows with the square of the text or worse: a stranger can stop the service with a few headers.',
  instead: 'cut the text (split, trim) and compare the parts, or keep repetitions apart.',
  find: eachFile(isProduct, (source) =>
    patternsOf(source).flatMap((pattern): readonly Finding[] => {
      if (OURS[source.path]?.includes(pattern.source)) return [];
      const { reports } = analyse(pattern);
      return reports.length === 0
        ? []
        : [{ path: source.path, line: pattern.line, found: `/${pattern.source}/ does not` }];
    }),
  ),
  refuses: [
    [file('packages/http/src/a.ts', 'const TYPE = /^json\\s*(?:;\\s*)?\\s*$/;\n')],
    [file('packages/http/src/a.ts', 'const base = text.replace(/\\/+$/, "");\n')],
    [file('packages/http/src/a.ts', 'if (/^(a+)+$/.test(text)) return;\n')],
  ],
  accepts: [
    [file('packages/http/src/a.ts', 'const ID = /^[a-z]{1,64}-[a-z]+$/;\n')],
    [file('packages/http/src/a.spec.ts', 'const found = /a+$/.exec(text);\n')],
  ],
};

const writtenPatterns: Rule = {
  title: 'writes its regular expressions down',
  why: 'nobody measures one that is built while the service runs.',
  instead: 'write it between slashes, or say in scripts/tidy/patternRules.ts what bounds it.',
  find: eachFile(
    (path) => isProduct(path) && !BUILDERS.includes(path),
    ({ path, text }) => matches(path, codeOf(text), /\bRegExp\(/g),
  ),
  refuses: [[file('packages/http/src/a.ts', 'const found = new RegExp(query.text).exec(name);\n')]],
  accepts: [[file('packages/http/src/a.ts', 'const isPattern = value instanceof RegExp;\n')]],
};

export const patternRules: readonly Rule[] = [linearPatterns, writtenPatterns];
