/**
 * The query of a URL as flat text values. Simple on purpose: no nesting, no lists, and a repeated parameter is refused,
 * because two readers of the same URL might disagree about it.
 */
import type { Issue } from './issues.ts';

export interface ParsedQuery {
  readonly values: Readonly<Record<string, string>>;
  readonly issues: readonly Issue[];
}

const NOTHING: ParsedQuery = { values: Object.freeze({}), issues: [] };

/** The text after the question mark. */
export function parseQuery(text: string): ParsedQuery {
  if (text === '') return NOTHING;
  const values = new Map<string, string>();
  const issues: Issue[] = [];
  for (const piece of text.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const name = decode(equals < 0 ? piece : piece.slice(0, equals));
    const value = decode(equals < 0 ? '' : piece.slice(equals + 1));
    const issue = problemOf(name, value, values);
    if (issue) issues.push(issue);
    else if (name !== undefined && value !== undefined) values.set(name, value);
  }
  return { values: Object.fromEntries(values), issues };
}

function problemOf(
  name: string | undefined,
  value: string | undefined,
  seen: ReadonlyMap<string, string>,
): Issue | undefined {
  if (name === undefined) return { path: '', message: 'a parameter name is not percent-encoded UTF-8' };
  if (value === undefined) return { path: name, message: 'is not percent-encoded UTF-8' };
  if (seen.has(name)) return { path: name, message: 'is given more than once' };
  // `Object.fromEntries` would make it an own field, but no honest caller sends it.
  if (name === '__proto__') return { path: name, message: 'unrecognized field' };
  return undefined;
}

/** Undefined when it is not percent-encoded UTF-8, or holds a NUL, which Postgres cannot store. */
function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}
