/** What must not be in the code, apart from imports. */
import { isDomain, isSource, MONEY_CONTEXTS, packageOf } from './architecture.ts';
import { eachFile, type Finding, file, matches, type Rule } from './rule.ts';
import { codeOf } from './sourceText.ts';

/** Searches the code of a file: not its comments, not its quoted strings. */
const inCode = (applies: (path: string) => boolean, pattern: RegExp) =>
  eachFile(applies, ({ path, text }) => matches(path, codeOf(text), pattern));

/** Searches the whole text. */
const inText = (applies: (path: string) => boolean, pattern: RegExp) =>
  eachFile(applies, ({ path, text }) => matches(path, text, pattern));

const pureDomain: Rule = {
  title: 'keeps clock, randomness and environment out of the domain',
  why: 'a decision is retried and replayed: the same state and command must always give the same events.',
  instead: 'let the route put the time, the id or the setting into the command.',
  find: inCode(
    isDomain,
    /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b|\bprocess\.|\bperformance\.|\bnewId\(|\bsystemClock\b|\bfetch\(|\bset(?:Timeout|Interval|Immediate)\(/g,
  ),
  refuses: [
    [file('packages/ledger/src/domain/a.ts', 'const at = new Date().toISOString();\n')],
    [file('packages/ledger/src/domain/a.ts', 'const at = Date.now();\n')],
    [file('packages/ledger/src/domain/a.ts', "const id = newId('ses');\n")],
    [file('packages/ledger/src/domain/a.ts', 'const name = process.env.NAME;\n')],
  ],
  accepts: [
    [file('packages/ledger/src/domain/a.ts', 'const at = new Date(command.at); // never Date.now()\n')],
    [file('packages/ledger/src/routes.ts', 'const at = new Date();\n')],
  ],
};

const moneyIsBigint: Rule = {
  title: 'keeps money out of floating point',
  why: 'parseFloat and coercion turn "", [] and 0x10 into amounts, and a number above 2^53 silently becomes another one.',
  instead:
    'parse with the amount codecs of @coffer/kernel and calculate with bigint; in the domain of a money context nothing becomes a number.',
  find: (files) => [
    ...inCode(isSource, /\bparseFloat\b|\bz\.coerce\b|\bBigInt\.prototype\b/g)(files),
    ...inCode(
      (path) => isDomain(path) && MONEY_CONTEXTS.includes(packageOf(path) ?? ''),
      /\bNumber(?:\.parseInt)?\(|\bparseInt\(/g,
    )(files),
  ],
  refuses: [
    [file('services/coffer/src/cli/a.ts', 'const value = parseFloat(text);\n')],
    [file('packages/http/src/a.ts', 'const limit = z.coerce.number();\n')],
    [file('packages/ledger/src/domain/a.ts', 'const stake = Number(bet.amount);\n')],
  ],
  accepts: [
    [file('packages/http/src/a.ts', 'const limit = Number(text);\n')],
    [file('packages/ledger/src/domain/a.ts', 'const stake = BigInt(bet.amount);\n')],
  ],
};

const noConsole: Rule = {
  title: 'prints nothing outside the log',
  why: 'a console line has no level, no request id and no redaction: that is how secrets leak.',
  instead: 'take the logger as an argument; the command line writes its answers to process.stdout.',
  find: inCode(isSource, /\bconsole\./g),
  refuses: [[file('packages/http/src/a.ts', "console.log('here');\n")]],
  accepts: [[file('packages/http/src/a.ts', "logger.info('the console. is quiet');\n")]],
};

const allTestsRun: Rule = {
  title: 'runs every test',
  why: 'an .only hides all the others, a .skip hides one, a bail ends all files of a parallel run.',
  instead:
    'fix the test, or delete it with the reason in the commit; where each test builds on the one before, call endAtFirstFailure().',
  find: inCode(
    isSource,
    /\b(?:describe|context|it|specify|before|after)\.(?:only|skip)\b|\bx(?:it|describe|context)\(|\bthis\.(?:skip|bail)\(/g,
  ),
  refuses: [
    [file('packages/http/src/a.spec.ts', "it.only('answers', () => {});\n")],
    [file('packages/http/src/a.spec.ts', "describe.skip('answers', () => {});\n")],
    [file('packages/http/src/a.int.spec.ts', 'if (!database) this.skip();\n')],
    [file('packages/http/src/a.e2e.spec.ts', 'this.bail(true);\n')],
  ],
  accepts: [[file('packages/http/src/a.spec.ts', "it('refuses it.only in words', () => {});\n")]],
};

const noEscapes: Rule = {
  title: 'leaves the type checker and the linter on',
  why: 'each escape turns off the check that would have caught the mistakes of everyone after you.',
  instead: 'type it: unknown plus a schema at an edge, a generic or a union inside.',
  find: (files) => [
    ...inCode(isSource, /(?:[:<|&=(]|\bas|\bextends)\s*\bany\b(?!\s*[(:.])|,\s*any\s*>|\bany\[\]/g)(files),
    ...inText(isSource, /@ts-(?:ignore|expect-error|nocheck)|biome-ignore|eslint-disable/g)(files),
  ],
  refuses: [
    [file('packages/http/src/a.ts', 'const body: any = read();\n')],
    [file('packages/http/src/a.ts', 'const body = read() as any;\n')],
    [file('packages/http/src/a.ts', 'const all: Record<string, any> = {};\n')],
    [file('packages/http/src/a.ts', '// @ts-expect-error later\n')],
    [file('packages/http/src/a.ts', '// biome-ignore lint: later\n')],
  ],
  accepts: [
    [file('packages/http/src/a.ts', "const expected: 'any' | number = 'any'; // any revision will do\n")],
  ],
};

const eventsAreForEver: Rule = {
  title: 'says at the top of every file of stored events that they are for ever',
  why: 'whoever edits an event must know that years of streams contain its name and shape.',
  instead: 'open the file with a comment that says: These names and shapes are on disk for ever.',
  find: eachFile(
    (path) => /\.events\.ts$/.test(path),
    ({ path, text }) =>
      // The sentence may be split over two lines of a comment.
      /These\s+names\s+and\s+shapes\s+are\s+on\s+disk\s+for\s+ever\./.test(
        text.replace(/\n\s*(?:\*|\/\/)/g, ' '),
      )
        ? []
        : [{ path, line: 1, found: 'lacks the sentence' }],
  ),
  refuses: [[file('packages/users/src/domain/user.events.ts', 'export const userEvents = 1;\n')]],
  accepts: [
    [
      file(
        'packages/users/src/domain/user.events.ts',
        '/**\n * Stored facts. These names and shapes\n * are on disk for ever.\n */\n',
      ),
    ],
  ],
};

const MAXIMUM_LINES = 500;
/** The specification is kept word for word, the schema is a dump, and the others are written by npm and a script. */
const LONG_BY_NATURE = [
  'docs/specification.md',
  'package-lock.json',
  'packages/database/schema.sql',
  'packages/sdk/src/api.ts',
];

const oneIdeaPerFile: Rule = {
  title: `keeps every file under ${MAXIMUM_LINES} lines`,
  why: 'a file is one whole idea; a longer one holds two, and nobody reads it from top to bottom.',
  instead: 'split it where the second idea begins, and name both parts.',
  find: eachFile(
    (path) => !LONG_BY_NATURE.includes(path),
    ({ path, text }): readonly Finding[] => {
      const lines = text.split('\n').length;
      return lines > MAXIMUM_LINES ? [{ path, line: MAXIMUM_LINES, found: `has ${lines} lines` }] : [];
    },
  ),
  refuses: [[file('packages/http/src/a.ts', '\n'.repeat(MAXIMUM_LINES))]],
  accepts: [[file('packages/http/src/a.ts', '\n'.repeat(MAXIMUM_LINES - 1))]],
};

const finished: Rule = {
  title: 'has no unfinished work and no workshop notes',
  why: 'a reader has only the repository: notes to oneself, paths on one machine and tracker numbers tell them nothing.',
  instead: 'finish it, or say what is true now; link documents by their path in the repository.',
  find: inText(
    (path) => path !== 'docs/specification.md' && path !== 'package-lock.json',
    /\b(?:TODO|FIXME|XXX|HACK)\b|\bnot (?:yet )?implemented\b|\/home\/\w+|\b[Ii]ssue #?\d+|\(#\d+\)|\bregistry=/g,
  ),
  refuses: [
    [file('packages/http/src/a.ts', '// TODO: the rest\n')],
    [file('docs/architecture.md', 'See issue 12.\n')],
    [file('.npmrc', 'registry=https://packages.example/\n')],
    [file('docs/README.md', 'Kept in /home/builder/notes.\n')],
  ],
  accepts: [[file('docs/glossary.md', 'A hold is still owned, not spendable.\n')]],
};

export const codeRules: readonly Rule[] = [
  pureDomain,
  moneyIsBigint,
  noConsole,
  allTestsRun,
  noEscapes,
  eventsAreForEver,
  oneIdeaPerFile,
  finished,
];
