/** Reads TypeScript text just far enough to tell code from comments and strings, and to list the imports. */
import { lineAt, type SourceFile } from './rule.ts';

/** A comment, a string, a template or a regular expression: whichever begins first wins the text up to its end. */
const TOKEN =
  /(?<comment>\/\/.*|\/\*[\s\S]*?\*\/)|(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:[=(,:[!&|?{};>]|\breturn)\s*)\/(?<pattern>(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/(?<flags>[dgimsuvy]*)/g;

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** The text with comments blanked out, every other character at its place. */
function withoutComments(text: string): string {
  return text.replace(TOKEN, (token, comment: string | undefined) => (comment ? blank(token) : token));
}

/** The text with comments and quoted strings blanked out. Templates stay, because they may hold code. */
export function codeOf(text: string): string {
  return text.replace(TOKEN, (token, comment?: string, string?: string) =>
    comment || string ? blank(token) : token,
  );
}

export interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly line: number;
}

/** Every regular expression that is written between slashes. */
export function patternsOf({ text }: SourceFile): readonly Pattern[] {
  return [...text.matchAll(TOKEN)].flatMap(({ groups, index }) => {
    const { pattern, flags = '' } = groups ?? {};
    return pattern === undefined ? [] : [{ source: pattern, flags, line: lineAt(text, index) }];
  });
}

export interface Import {
  /** What stands in the quotes: `./rule.ts`, `@coffer/kernel`, `node:assert/strict`. */
  readonly specifier: string;
  readonly line: number;
}

const IMPORT =
  /(?:^|[\n;])[^\S\n]*(?:import|export)\s+(?:type\s+)?(?:[\w$*{}\s,]+?\s+from\s+)?(['"])([^'"\n]+)\1|\b(?:import|import\.meta\.resolve|require\.resolve)\(\s*(['"])([^'"\n]+)\3\s*\)/g;

/** Every import, re-export, literal dynamic import and literal resolve of a file. */
export function importsOf(file: SourceFile): readonly Import[] {
  const text = withoutComments(file.text);
  return [...text.matchAll(IMPORT)].map((match) => {
    const specifier = match[2] ?? match[4] ?? '';
    return { specifier, line: lineAt(text, match.index + match[0].indexOf(specifier)) };
  });
}

/** `@coffer/event-store` of `@coffer/event-store/memory`, `uuid` of `uuid/v7`; undefined for files and `node:`. */
export function packageNameOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  const [first = '', second = ''] = specifier.split('/');
  return specifier.startsWith('@') ? `${first}/${second}` : first;
}
