/** The names in the documents of things in the repository: paths, commands, variables, endpoints. */
import { posix } from 'node:path';
import type { Command } from 'commander';
import { lineAt, type SourceFile } from '../tidy/rule.ts';

/** Historical records and the specification may name what does not exist. */
const isCurrent = (path: string) =>
  path.endsWith('.md') && !/^CHANGELOG|^docs\/adr\/\d|^docs\/specification|\/fixtures\//.test(path);

export const documentsOf = (tree: readonly SourceFile[]): readonly SourceFile[] =>
  tree.filter(({ path }) => isCurrent(path));

interface Code {
  readonly text: string;
  readonly line: number;
}

/** What is marked as code: blocks and spans. A bar in a table is escaped with a backslash. */
function codesOf({ text }: SourceFile): readonly Code[] {
  const lines = text.split('\n');
  let inBlock = false;
  return lines.flatMap((line, index) => {
    if (line.trimStart().startsWith('```')) {
      inBlock = !inBlock;
      return [];
    }
    const texts = inBlock ? [line] : [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
    return texts.map((code) => ({ text: code.replaceAll('\\|', '|'), line: index + 1 }));
  });
}

type Checked = (text: string, document: SourceFile) => readonly string[];

/** `path:line  name` of each name that `deadIn` finds in the code of the documents. */
export const deadNames = (documents: readonly SourceFile[], deadIn: Checked): readonly string[] =>
  documents.flatMap((document) =>
    codesOf(document).flatMap(({ text, line }) =>
      deadIn(text, document).map((name) => `${document.path}:${line}  ${name}`),
    ),
  );

/** Files by their path or the end of it; in a package's README, files of that package. */
export function deadPaths(tree: readonly SourceFile[]): Checked {
  const folders = tree.flatMap(({ path }) => ancestorsOf(path));
  const paths = [...tree.map(({ path }) => path), ...new Set(folders)];
  const programs = tree.filter(({ path }) => /\.(?:ts|mjs|ya?ml)$|\.gitignore$/.test(path));

  return (text, { path: document }) => {
    const home = /^(?:packages|services)\/[^/]+\//.exec(document)?.[0] ?? '';
    return namesOfPaths(text).filter((name) => {
      // Files that a start or an example creates are in no checkout, but the program that creates them names
      // them.
      const base = posix.basename(name);
      if (/\.(?:json|env)$/.test(base) && programs.some((program) => program.text.includes(base)))
        return false;
      const asWritten = patternOf(posix.normalize(name.replace(/^\.\//, '')));
      const fromDocument = patternOf(posix.join(posix.dirname(document), name));
      const isHere = (path: string) =>
        fromDocument.test(path) || asWritten.test(path) || endsLike(path, home, asWritten);
      return !paths.some(isHere);
    });
  };
}

function ancestorsOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_part, index) => parts.slice(0, index + 1).join('/'));
}

/** Whether the name matches some end of the path within the home. */
function endsLike(path: string, home: string, name: RegExp): boolean {
  if (!path.startsWith(home)) return false;
  const parts = path.split('/');
  return parts.some((_part, index) => name.test(parts.slice(index).join('/')));
}

function namesOfPaths(text: string): readonly string[] {
  const words = text.split(/[\s"'()|;,=]+/);
  return words.filter(
    (word) =>
      !/^\w+:|^@|^\/|^\.data|…/.test(word) &&
      (/^[\w.*<>/-]+\.(?:ts|mjs|md|json|ya?ml|sql)$/.test(word) ||
        /^(?:packages|services|scripts|docs|infra|src)\/[\w.*<>/-]*$/.test(word)),
  );
}

/** A star or a `<word>` stands for a part of a name. */
const patternOf = (name: string): RegExp =>
  new RegExp(
    `^${name
      .replace(/\/$/, '')
      .replaceAll('.', '\\.')
      .replaceAll(/\*|<\w+>/g, '[^/]*')}$`,
  );

/** Commands of `coffer` with their options, and npm scripts. */
export function deadCommands(program: Command, scripts: ReadonlySet<string>): Checked {
  return (text) => [
    ...[...text.matchAll(/\bcoffer ([a-z][^|>;&()#]*)/g)].flatMap(([, line = '']) =>
      deadCommand(program, line),
    ),
    ...[...text.matchAll(/\bnpm run ([\w:-]+)/g)].flatMap(([found, name = '']) =>
      scripts.has(name) ? [] : [found],
    ),
  ];
}

/** The names in a written command that the program does not know. */
export function deadCommand(program: Command, line: string): readonly string[] {
  const words = line.split(/\s+/).filter((word) => word !== '');
  const found: string[] = [];
  let command = program;
  for (const word of words) {
    if (command.commands.length === 0 || !/^[a-z][a-z-]*$/.test(word)) break;
    const next = command.commands.find((known) => known.name() === word);
    if (!next) return [`coffer ${[...found, word].join(' ')}`];
    found.push(word);
    command = next;
  }
  const known = new Set(['--help', ...[...command.options, ...program.options].map(({ long }) => long)]);
  return optionsIn(line)
    .filter((option) => !known.has(option))
    .map((option) => `coffer ${found.join(' ')} ${option}`);
}

const optionsIn = (line: string): readonly string[] =>
  [...line.matchAll(/(?<=^|[\s[|])--[a-z][a-z-]*/g)].map(([option]) => option);

/** Every command with an action, such as `streams verify`. */
export const commandNames = (program: Command): readonly string[] =>
  program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : commandNames(command).map((name) => `${command.name()} ${name}`),
  );

/** Names in capitals that appear only in documents. */
export function deadVariables(tree: readonly SourceFile[]): Checked {
  const programs = tree.filter(({ path }) => !path.endsWith('.md')).map(({ text }) => text);
  const known = new Set(programs.flatMap((text) => text.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g) ?? []));
  // A shell block may set its own.
  return (text, document) =>
    (text.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g) ?? []).filter(
      (name) => !known.has(name) && !document.text.includes(`${name}=`),
    );
}

/** Each `GET /path` in the documents, with its place; `:name` and `{name}` are the same. */
export function endpointsIn(
  documents: readonly SourceFile[],
): readonly { endpoint: string; place: string }[] {
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[\w/:.{}-]*)/g)].map((match) => ({
      endpoint: `${match[1]} ${withoutNames(match[2] ?? '')}`,
      place: `${path}:${lineAt(text, match.index)}`,
    })),
  );
}

/** The path without its version, a full stop after it, and the names of its parameters. */
const withoutNames = (path: string): string =>
  path
    .replace(/^\/v1(?=\/)/, '')
    .replace(/\.$/, '')
    .replaceAll(/:\w+|\{\w+\}/g, ':');

export interface ListedCommands {
  /** In the form of `commandNames`. */
  readonly names: readonly string[];
  /** The options of all of them together. */
  readonly options: readonly string[];
}

/** The rows of `docs/commands.md`, with spans such as `keys list\\|create --app A [--kind K]`. */
export function listedCommands(page: string): readonly ListedCommands[] {
  const cells = [...page.matchAll(/^\| (`.*?) \| /gm)].map(([, cell = '']) => cell);
  return cells
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)])
    .map(([, span = '']) => ({ names: alternativesOf(span), options: optionsIn(span) }));
}

/** Names come before the first option; words in capitals and brackets are arguments. */
function alternativesOf(span: string): readonly string[] {
  const [names = ''] = span.replaceAll('\\|', '|').split(/ (?:--|\[|…)/);
  const isName = (word: string) => /^[a-z-]+$/.test(word);
  const [first = '', ...others] = names.split('|').map((part) => part.split(' ').filter(isName).join(' '));
  const [group = ''] = first.split(' ');
  return [first, ...others.map((name) => `${group} ${name}`)];
}
