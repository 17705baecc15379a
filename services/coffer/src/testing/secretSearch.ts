/** Looks for secrets in text that has left the service, in every form in which they could have been written. */
import { inspect } from 'node:util';
import { encodeBase58 } from '@coffer/kernel';

export interface Secret {
  /** Reported in place of the secret itself. */
  readonly name: string;
  /** Text, or bytes that nobody would write unencoded. */
  readonly value: string | Uint8Array;
}

export interface Place {
  readonly name: string;
  readonly text: string;
}

interface Writing {
  readonly name: string;
  readonly text: string;
}

/** Shorter ones occur by chance in long random text. */
const MIN_LENGTH = 8;

/** "a refresh token (base64) in the log", for each one found. */
export function findSecrets(places: readonly Place[], secrets: readonly Secret[]): readonly string[] {
  const searched = secrets.map(({ name, value }) => ({ name, writings: writingsOf(value) }));
  return places.flatMap((place) => {
    // Hexadecimal, percent-encoding and addresses ignore case; in the others a chance match is as unlikely.
    const text = place.text.toLowerCase();
    return searched.flatMap(({ name, writings }) =>
      writings
        .filter((writing) => text.includes(writing.text.toLowerCase()))
        .map((writing) => `${name} (${writing.name}) in ${place.name}`),
    );
  });
}

function writingsOf(value: string | Uint8Array): readonly Writing[] {
  const bytes = Buffer.from(value);
  if (bytes.length < MIN_LENGTH) throw new Error(`${bytes.length} bytes are too few to be looked for.`);
  const writings = [
    ...(typeof value === 'string' ? textWritings(value) : byteWritings(bytes)),
    { name: 'hex', text: bytes.toString('hex') },
    { name: 'hex with spaces', text: (bytes.toString('hex').match(/../g) ?? []).join(' ') },
    { name: 'decimals', text: bytes.join(',') },
    { name: 'decimals with spaces', text: bytes.join(', ') },
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ];
  const seen = new Set<string>();
  return writings.filter(({ text }) => !seen.has(text) && seen.add(text));
}

/**
 * A code of six digits, without a letter or digit next to it; times are excluded, since their fractions have six
 * digits too, and so are the values of metrics.
 */
export function findCodes(places: readonly Place[], codes: readonly string[]): readonly string[] {
  const encoded = codes.flatMap((code) => [
    { name: `the code ${code} (hex)`, text: Buffer.from(code).toString('hex') },
    ...[0, 1, 2].flatMap((offset) => base64At(Buffer.from(code), offset)),
  ]);
  return places.flatMap(({ name, text }) => {
    const clean = text
      .replaceAll(/\d\d:\d\d:\d\d\.\d+/g, 'TIME')
      .replaceAll(/^(\w+(?:\{.*\})?) [\d.e+-]+$/gm, '$1 VALUE');
    const plain = codes.filter((code) => new RegExp(`(?<![0-9A-Za-z])${code}(?![0-9A-Za-z])`).test(clean));
    return [
      ...plain.map((code) => `the code ${code} in ${name}`),
      ...encoded.filter((one) => clean.includes(one.text)).map((one) => `a code (${one.name}) in ${name}`),
    ];
  });
}

function textWritings(text: string): readonly Writing[] {
  const json = JSON.stringify(text).slice(1, -1);
  return [
    { name: 'as it is', text },
    { name: 'JSON', text: json },
    { name: 'JSON in JSON', text: JSON.stringify(json).slice(1, -1) },
    { name: 'JSON in ASCII', text: escaped(json, /[^\x20-\x7e]/g) },
    { name: 'JSON, all escaped', text: escaped(text, /[^A-Za-z0-9]/g) },
    { name: 'URL', text: encodeURIComponent(text) },
    { name: 'form', text: new URLSearchParams({ x: text }).toString().slice(2) },
    { name: 'inspected', text: inspect(text).slice(1, -1) },
  ];
}

function byteWritings(bytes: Buffer): readonly Writing[] {
  return [
    { name: 'base58', text: encodeBase58(bytes) },
    { name: 'latin1', text: bytes.toString('latin1') },
    { name: 'JSON of latin1', text: JSON.stringify(bytes.toString('latin1')).slice(1, -1) },
  ];
}

function escaped(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The part of any base64 text fixed by these bytes after this many others (modulo 3), in both alphabets. */
function base64At(bytes: Buffer, offset: number): readonly Writing[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const begin = Math.ceil((offset * 8) / 6);
  const end = Math.floor((whole.length * 8) / 6);
  return (['base64', 'base64url'] as const).map((name) => ({
    name: `${name}, ${offset} behind`,
    text: whole.toString(name).slice(begin, end),
  }));
}
