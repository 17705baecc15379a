/** Converts the bytes of a body to a JSON value that is safe to inspect. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { reject } from './errors.ts';
import { type Issue, pathText } from './issues.ts';

/** Longer than any spelling of `application/json; charset=utf-8`. */
const MAX_MEDIA_TYPE_LENGTH = 256;
const UTF_8 = ['utf-8', 'utf8', '"utf-8"', '"utf8"'];

export function hasBody(headers: IncomingHttpHeaders): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** Throws `request/unsupported_media_type` unless the body is plain JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw reject('request/unsupported_media_type');
  }
  if (type === 'application/json') return;
  if (type === undefined || !isJsonType(type)) throw reject('request/unsupported_media_type');
}

/** `application/json`, alone or with a charset. Split, not matched, to take linear time. */
function isJsonType(text: string): boolean {
  if (text.length > MAX_MEDIA_TYPE_LENGTH) return false;
  const [type, ...parameters] = text
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  // RFC 9110 allows a trailing semicolon.
  if (parameters.at(-1) === '') parameters.pop();
  const [charset, ...more] = parameters;
  return (
    type === 'application/json' && more.length === 0 && (charset === undefined || isUtf8Charset(charset))
  );
}

function isUtf8Charset(parameter: string): boolean {
  const [name = '', ...values] = parameter.split('=').map((part) => part.trim());
  return name === 'charset' && values.length === 1 && UTF_8.includes(values.join());
}

/** Throws `request/malformed_json`. A byte order mark is refused, because RFC 8259 forbids senders to add one. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw reject('request/malformed_json');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw reject('request/malformed_json');
  }
}

/** More than any documented body has of either: 20,000 payouts of a pool make 60,000 fields in 20,002 containers. */
export const MAX_JSON_PARTS = 65_536;

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;

/**
 * What JSON text has more of than that, if anything. Checked before parsing: each distinct name and each container costs
 * up to a microsecond in the parser, and again in everything that enumerates them, and none of that can be interrupted.
 */
export function excessIn(bytes: Buffer): 'fields' | 'lists and objects' | undefined {
  if (bytes.length <= MAX_JSON_PARTS) return undefined;
  let fields = 0;
  let containers = 0;
  let isInText = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) isInText = !isInText;
    else if (isInText) {
      if (byte === BACKSLASH) index++;
    } else if (byte === COLON) {
      if (++fields > MAX_JSON_PARTS) return 'fields';
    } else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      if (++containers > MAX_JSON_PARTS) return 'lists and objects';
    }
  }
  return undefined;
}

/** Deeper than any documented body, and shallow enough for every recursive function behind it. */
const MAX_JSON_DEPTH = 32;

/**
 * The first thing in the value that no schema should have to deal with: text that is not Unicode or holds a NUL
 * (Postgres stores neither; `anyText` lets it pass), a field called `__proto__`, nesting beyond `MAX_JSON_DEPTH`.
 */
export function findUnsafeJson(value: unknown, { anyText = false } = {}): Issue | undefined {
  return unsafeAt(value, [], anyText ? () => true : isSafeText);
}

type TextCheck = (text: string) => boolean;

function unsafeAt(value: unknown, path: PropertyKey[], isGood: TextCheck): Issue | undefined {
  if (typeof value === 'string') return isGood(value) ? undefined : issueAt(path, UNSAFE_TEXT);
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length >= MAX_JSON_DEPTH) return issueAt(path, 'is nested too deeply');

  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const issue = unsafeIn(value[index], index, path, isGood);
      if (issue) return issue;
    }
    return undefined;
  }
  for (const key in value) {
    if (key === '__proto__') return issueAt([...path, key], 'unrecognized field');
    if (!isSafeText(key)) return issueAt(path, 'has a field whose name is not Unicode text without NUL');
    const issue = unsafeIn(Reflect.get(value, key), key, path, isGood);
    if (issue) return issue;
  }
  return undefined;
}

function unsafeIn(
  value: unknown,
  key: PropertyKey,
  path: PropertyKey[],
  isGood: TextCheck,
): Issue | undefined {
  // Most of a body is text: it is checked without touching the path.
  if (typeof value === 'string' ? isGood(value) : typeof value !== 'object' || value === null) {
    return undefined;
  }
  path.push(key);
  const issue = unsafeAt(value, path, isGood);
  path.pop();
  return issue;
}

const UNSAFE_TEXT = 'must be Unicode text without NUL';

function isSafeText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function issueAt(path: readonly PropertyKey[], message: string): Issue {
  return { path: pathText(path), message };
}
