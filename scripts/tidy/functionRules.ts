/** How long a function may be. */
import { isSource, isTestCode } from './architecture.ts';
import { type Finding, file, type Rule, type SourceFile } from './rule.ts';

const MAXIMUM_LINES = 150;

/**
 * What is read case by case, like a table: suites that adapters pass, worlds for specs, the model of the
 * ledger.
 */
const isTableOfCases = (path: string) => isTestCode(path) || /^packages\/ledger\/src\/model\//.test(path);

/** Allowed to be longer, each for a reason. */
const LONG_FOR_A_REASON: { readonly [place: string]: string } = {
  'packages/ledger/src/routes.ts ledgerEndpoints': 'a table of endpoints',
  'packages/wallets/src/playerRoutes.ts playerWalletEndpoints': 'a table of endpoints',
};

const DECLARED = /^( *)(?:export )?(?:default )?(?:async )?function\*? (\w+)/;
const ASSIGNED = /^( *)(?:export )?const (\w+)(?:: .*)? = (?:async )?\((?:.* => \{)?$/;

interface NamedFunction {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

/**
 * Goes by the indentation, which the formatter guarantees: from the line with the name to the closing brace.
 */
function* functionsOf(text: string): Generator<NamedFunction> {
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const declared = DECLARED.exec(line);
    if (!declared && line.endsWith('(') && !isBodyAfter(lines, index)) continue;
    const [, indent = '', name] = declared ?? ASSIGNED.exec(line) ?? [];
    if (name === undefined) continue;
    const closing = declared ? `${indent}}` : `${indent}};`;
    const end = lines.indexOf(closing, index);
    if (end >= 0) yield { name, line: index + 1, lines: end - index + 1 };
  }
}

/** Parameters over several lines and then a body, as opposed to an expression in parentheses. */
function isBodyAfter(lines: readonly string[], index: number): boolean {
  const indent = /^ */.exec(lines[index] ?? '')?.[0] ?? '';
  return (
    lines
      .slice(index)
      .find((line) => line.startsWith(`${indent})`))
      ?.endsWith('=> {') ?? false
  );
}

function longFunctionsOf({ path, text }: SourceFile): readonly Finding[] {
  const long = [...functionsOf(text)].filter(({ lines }) => lines > MAXIMUM_LINES);
  const names = new Set(long.map(({ name }) => `${path} ${name}`));
  const listed = Object.keys(LONG_FOR_A_REASON).filter((place) => place.startsWith(`${path} `));
  return [
    ...long
      .filter(({ name }) => LONG_FOR_A_REASON[`${path} ${name}`] === undefined)
      .map(({ name, line, lines }) => ({ path, line, found: `${name} has ${lines} lines` })),
    ...listed
      .filter((place) => !names.has(place))
      .map((place) => ({ path, line: 1, found: `${place} is listed as long, but is not` })),
  ];
}

const ofLines = (lines: number, first: string, last: string) =>
  `${first}\n${'  work();\n'.repeat(lines - first.split('\n').length - 1)}${last}\n`;

const oneIdeaPerFunction: Rule = {
  title: `keeps every function within ${MAXIMUM_LINES} lines`,
  why: 'a function is read in one go: a plain one fits on one screen, a factory of closures on two. A longer one hides its states.',
  instead:
    'name the states and steps, and move what needs none of the closures to its own file; list only tables in scripts/tidy/functionRules.ts, with the reason.',
  find: (files) =>
    files.filter(({ path }) => isSource(path) && !isTableOfCases(path)).flatMap(longFunctionsOf),
  refuses: [
    [file('packages/http/src/a.ts', ofLines(MAXIMUM_LINES + 1, 'export async function a() {', '}'))],
    [file('packages/http/src/a.ts', ofLines(MAXIMUM_LINES + 1, 'const a = (b: B): C => {', '};'))],
    [
      file(
        'packages/http/src/a.ts',
        ofLines(MAXIMUM_LINES + 1, 'export function a({\n  b,\n}: B): C {', '}'),
      ),
    ],
    [file('packages/ledger/src/routes.ts', 'export function ledgerEndpoints() {\n}\n')],
  ],
  accepts: [
    [file('packages/http/src/a.ts', ofLines(MAXIMUM_LINES, 'export function a(): { b: C } {', '}'))],
    [
      file(
        'packages/http/src/a.ts',
        ofLines(100, 'function a() {', '}') + ofLines(100, 'const b = async () => {', '};'),
      ),
    ],
    [
      file(
        'packages/http/src/a.ts',
        `const a = (\n  b\n);\n${ofLines(MAXIMUM_LINES, 'const c = (\n  d: D,\n) => {', '};')}`,
      ),
    ],
    [file('packages/http/src/a.spec.ts', ofLines(MAXIMUM_LINES + 1, 'function a() {', '}'))],
  ],
};

export const functionRules: readonly Rule[] = [oneIdeaPerFunction];
