/**
 * The server matches filters with the expressions of .NET. Here they are rewritten for an engine that takes linear time
 * for all of them: they come from outside, and everybody shares the thread. What cannot be rewritten with the same
 * meaning is refused, with what to write instead.
 */

import { RE2JS } from 're2js';
import { RefusalError } from './refusals.ts';

/** Longer than anybody writes by hand. */
const MAX_LENGTH = 1_000;
/** The engine takes at most the length of the text times this; a repetition counts as often as it may occur. */
const MAX_SIZE = 500;

type Test = (text: string) => boolean;

/** Throws a `RefusalError` for an expression that means nothing, or nothing available here. */
export function expressionTest(source: string): Test {
  if (source.length > MAX_LENGTH) {
    throw new RefusalError('badRequest', `A filter has at most ${MAX_LENGTH} characters: write prefixes.`);
  }
  const { conditions, rest } = splitConditions(source);
  const matches = compiled(conditions.length === 0 ? rest : `^${rest}`, source);
  return (text) => conditions.every((holds) => holds(text)) && matches(text);
}

/** `^(?!a)b`: how clients write what they exclude. A look-ahead at the beginning is tested separately. */
function splitConditions(source: string): { readonly conditions: readonly Test[]; readonly rest: string } {
  const conditions: Test[] = [];
  let rest = /^(?:\^|\\A)(\(\?[=!].*)$/s.exec(source)?.[1];
  if (rest === undefined) return { conditions, rest: source };
  for (let sign = LOOK_AHEAD.exec(rest)?.[1]; sign !== undefined; sign = LOOK_AHEAD.exec(rest)?.[1]) {
    const { groupEnd } = ends(rest.slice(3));
    if (groupEnd === undefined) throw refused(source, 'a group is not closed');
    const end = groupEnd + 3;
    const ahead = compiled(`^(?:${rest.slice(3, end)})`, source);
    conditions.push(sign === '!' ? (text) => !ahead(text) : ahead);
    rest = rest.slice(end + 1);
  }
  if (ends(rest).hasBar) throw refused(source, 'put what is between bars into a group');
  return { conditions, rest };
}
const LOOK_AHEAD = /^\(\?([=!])/;

function compiled(part: string, source: string): Test {
  const expression = compile(translate(part, source), source);
  if (expression.programSize() > MAX_SIZE) throw refused(source, 'it is too large: write prefixes');
  return (text) => expression.test(text);
}

function compile(translated: string, source: string): RE2JS {
  try {
    return RE2JS.compile(translated);
  } catch (error) {
    throw refused(source, error instanceof Error ? error.message : String(error));
  }
}

const refused = (source: string, why: string) =>
  new RefusalError('badRequest', `The filter cannot be used here: ${why}. It is ${source}`);

interface Token {
  readonly text: string;
  readonly at: number;
  readonly inClass: boolean;
}

/** Inside and outside brackets: escapes; outside also what opens a group or sets options. */
const INSIDE = /\\(?:c.|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0[0-7]{0,2}|[pP]\{\w{1,40}\}|.)|./sy;
const OUTSIDE =
  /\\(?:c.|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0[0-7]{0,2}|[pP]\{\w{1,40}\}|.)|\(\?(?:<\w{1,40}>|'\w{1,40}'|[a-zA-Z]{0,9}(?:-[a-zA-Z]{1,9})?[:)])|./sy;

/** The tokens of an expression, in order; every character belongs to one. */
function* tokensOf(source: string): Iterable<Token> {
  let classBegin: number | undefined;
  for (let at = 0; at < source.length; ) {
    const pattern = classBegin === undefined ? OUTSIDE : INSIDE;
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? '';
    const inClass: boolean = classBegin !== undefined;
    if (!inClass && text === '[') classBegin = at;
    // As the very first it is an ordinary character.
    const isFirst = /^\[\^?$/.test(source.slice(classBegin, at));
    if (inClass && text === ']' && !isFirst) classBegin = undefined;
    yield { text, at, inClass };
    at += text.length;
  }
}

/** Where a group closes that was already open, and whether it has a bar that is in no inner group. */
function ends(source: string): { readonly groupEnd: number | undefined; readonly hasBar: boolean } {
  let depth = 1;
  let hasBar = false;
  for (const { text, at, inClass } of tokensOf(source)) {
    if (inClass) continue;
    if (text === '|' && depth === 1) hasBar = true;
    if (text === ')') depth -= 1;
    else if (text.startsWith('(') && !text.endsWith(')')) depth += 1;
    if (depth === 0) return { groupEnd: at, hasBar };
  }
  return { groupEnd: undefined, hasBar };
}

/** What .NET means by them; `.` and `^` mean the same to both. */
const SETS: Readonly<Record<string, { readonly inClass: string | undefined; readonly alone: string }>> = {
  '\\d': { inClass: '\\p{Nd}', alone: '\\p{Nd}' },
  '\\D': { inClass: '\\P{Nd}', alone: '\\P{Nd}' },
  '\\w': { inClass: '\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}', alone: '[\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}]' },
  '\\W': { inClass: undefined, alone: '[^\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}]' },
  '\\s': { inClass: '\\t-\\r\\x{85}\\p{Z}', alone: '[\\t-\\r\\x{85}\\p{Z}]' },
  '\\S': { inClass: undefined, alone: '[^\\t-\\r\\x{85}\\p{Z}]' },
};
/** The end, or before a line break that is the last character. */
const END = '(?:\\n?\\z)';

function translate(part: string, source: string): string {
  let result = '';
  for (const { text, at, inClass } of tokensOf(part)) {
    const next = part.slice(at + text.length);
    if (text.startsWith('\\')) result += escaped(text, { inClass, next, source });
    // In a class here, brackets stand for themselves, except for one that subtracts.
    else if (inClass && text === '[') {
      if (part[at - 1] === '-') throw refused(source, 'write a class without subtracting another');
      result += '\\[';
    } else if (inClass) result += text;
    else if (text === '$') result += endOf(next, source);
    else if (text.startsWith('(?')) result += group(text, source);
    else if (text === '(' && next.startsWith('?')) {
      const ahead =
        'look-arounds are allowed at the beginning only, as in ^(?!a)b; atomic groups and conditions are not supported';
      throw refused(source, ahead);
    } else result += text;
  }
  return result;
}

function escaped(
  text: string,
  { inClass, next, source }: { readonly inClass: boolean; readonly next: string; readonly source: string },
): string {
  const set = SETS[text];
  if (set && !inClass) return set.alone;
  if (set?.inClass !== undefined) return set.inClass;
  if (set) throw refused(source, `write ${text} outside of brackets`);
  const letter = text[1] ?? '';
  const code = codeOf(text, inClass);
  if (code !== undefined) {
    if (code >= 0xd800 && code <= 0xdfff) throw refused(source, 'write a character whole, not its halves');
    return `\\x{${code.toString(16)}}`;
  }
  if (/[pP]/.test(letter) && text.length > 2) return text;
  if (text === '\\A' && !inClass) return '^';
  if (text === '\\z' && !inClass) return text;
  if (text === '\\Z' && !inClass) return endOf(next, source);
  if (/[afnrtv]/.test(letter)) return text;
  if (letter === 'G') throw refused(source, 'write ^ for \\G');
  if (/[bB]/.test(letter))
    throw refused(source, `write the characters around the word instead of ${text}, as in (^|-)word`);
  if (/[1-9k]/.test(letter)) throw refused(source, 'a group cannot be referred to');
  if (letter === '' || /[\p{L}\p{N}]/u.test(letter)) throw refused(source, `${text} means nothing here`);
  // Only characters with a meaning may be escaped for the engine, and all of those must be.
  return /^[!-/:-@[-`{-~ ]$/.test(letter) ? text : letter;
}

/** The code of an escape that names one character by its number. */
function codeOf(text: string, inClass: boolean): number | undefined {
  if (text === '\\e') return 0x1b;
  if (text === '\\b' && inClass) return 0x08;
  if (/^\\[ux]./.test(text)) return Number.parseInt(text.slice(2), 16);
  if (text.startsWith('\\0')) return Number.parseInt(text.slice(1), 8);
  if (/^\\c[@-_a-z]$/.test(text)) return text.toUpperCase().charCodeAt(2) - 0x40;
  return undefined;
}

/** It has no width: nothing may follow but what matches nothing. */
function endOf(next: string, source: string): string {
  if (next !== '' && !/^[|)]/.test(next)) throw refused(source, 'nothing can follow the end');
  return END;
}

/** Names of groups mean nothing to a filter; some of the options are supported. */
function group(text: string, source: string): string {
  if (/^\(\?[<']/.test(text)) return '(?:';
  const [, on = '', off = '', end = ''] = /^\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])$/.exec(text) ?? [];
  if (/[^ins]/.test(on + off))
    throw refused(source, `the options i, n and s are supported, not all of ${text}`);
  const [kept, dropped] = [on, off].map((letters) => letters.replaceAll('n', ''));
  const options = `${kept}${dropped ? `-${dropped}` : ''}`;
  return options === '' && end === ')' ? '' : `(?${options}${end}`;
}
