/** A rule about the code: what it finds, why that is wrong, what to do instead, and samples that prove it works. */

/** A file in the repository: its path from the root, with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** The piece of text, or the fact, that breaks the rule. */
  readonly found: string;
}

export interface Rule {
  /** Reads on from "it": "it keeps domain code pure". */
  readonly title: string;
  readonly why: string;
  readonly instead: string;
  /** Pure: the findings depend only on the given files. */
  readonly find: (files: readonly SourceFile[]) => readonly Finding[];
  /** Small trees in which the rule must find something. */
  readonly refuses: readonly (readonly SourceFile[])[];
  /** Small trees in which it must find nothing. */
  readonly accepts: readonly (readonly SourceFile[])[];
}

export const file = (path: string, text: string): SourceFile => ({ path, text });

export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Applies a check of one file to all files that `applies` picks. */
export function eachFile(
  applies: (path: string) => boolean,
  check: (file: SourceFile) => readonly Finding[],
): Rule['find'] {
  return (files) => files.filter(({ path }) => applies(path)).flatMap(check);
}

/** Every match of a global pattern in a text, as findings of the file at `path`. */
export function matches(path: string, text: string, pattern: RegExp): readonly Finding[] {
  return [...text.matchAll(pattern)].map((match) => ({
    path,
    line: lineAt(text, match.index),
    found: match[0].trim(),
  }));
}

/** What a developer reads when the rule is broken. */
export function explain(rule: Rule, findings: readonly Finding[]): string {
  const places = findings.map(({ path, line, found }) => `  ${path}:${line}  ${found}`);
  return ['', ...places, `Why it is wrong: ${rule.why}`, `Do instead: ${rule.instead}`].join('\n');
}
