/** What is wrong with a request, and where, in words that help its author. */
import type { z } from 'zod';

export interface Issue {
  /** For example `operations[3].amount`; empty for the body as a whole. */
  readonly path: string;
  readonly message: string;
}

/** A body with thousands of wrong entries is answered with only the first ones. */
export const MAX_ISSUES = 20;
const MAX_PATH_LENGTH = 200;

type Path = readonly PropertyKey[];
type ZodIssue = z.core.$ZodIssue;

/** The issues of a failed parse of `input`, at most `MAX_ISSUES`. Never repeats a value of the request. */
export function issuesOf(error: z.core.$ZodError, input: unknown): readonly Issue[] {
  const issues: Issue[] = [];
  for (const issue of error.issues) {
    collect(issue, [], input, issues);
    if (issues.length >= MAX_ISSUES) break;
  }
  return issues.slice(0, MAX_ISSUES);
}

export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text.length > MAX_PATH_LENGTH ? `${text.slice(0, MAX_PATH_LENGTH)}…` : text;
}

function collect(issue: ZodIssue, prefix: Path, input: unknown, into: Issue[]): void {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      if (into.length >= MAX_ISSUES) return;
      into.push({ path: pathText([...path, key]), message: 'unrecognized field' });
    }
    return;
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The branch with the fewest issues is probably the one that was meant.
    const closest = issue.errors.reduce((best, branch) => (branch.length < best.length ? branch : best));
    for (const inner of closest) {
      if (into.length >= MAX_ISSUES) return;
      collect(inner, path, input, into);
    }
    return;
  }
  const missing = issue.code === 'invalid_type' && path.length > 0 && valueAt(input, path) === undefined;
  into.push({ path: pathText(path), message: missing ? 'is required' : messageOf(issue) });
}

function messageOf(issue: ZodIssue): string {
  return issue.message.replace(/^Invalid input: /, '');
}

function valueAt(input: unknown, path: Path): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = Reflect.get(value, part);
  }
  return value;
}
