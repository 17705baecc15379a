/** Reads TypeScript text just far enough to tell code from comments and strings. */
import { lineAt, type SourceFile } from './rule.ts';

/**
 * A comment, a string, a template or a regular expression: whichever begins first takes the text up to its
 * end.
 */
const TOKEN =
  /(?<comment>\/\/.*|\/\*[\s\S]*?\*\/)|(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:[=(,:[!&|?{};>]|\breturn)\s*)\/(?<pattern>(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/(?<flags>[dgimsuvy]*)/g;

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** The text with comments and quoted strings blanked out. Templates stay, because they may contain code. */
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
