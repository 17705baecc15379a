/**
 * Reads the fields of an answer one by one. Only what the SDK hands out is looked at, so that the service may add
 * fields; what is missing or of another kind means that something else than Coffer has answered.
 */
import { decodeFigure, decodeSignedFigure } from './amounts.ts';
import { decodeBase64 } from './base64.ts';
import { sdkError } from './cofferError.ts';

export interface Fields {
  readonly text: (name: string) => string;
  readonly number: (name: string) => number;
  readonly boolean: (name: string) => boolean;
  readonly oneOf: <Word extends string>(name: string, words: readonly Word[]) => Word;
  readonly figure: (name: string) => bigint;
  readonly signedFigure: (name: string) => bigint;
  /** Of base64 text. */
  readonly bytes: (name: string) => Uint8Array;
  /** Undefined where the field is absent. */
  readonly optionalText: (name: string) => string | undefined;
  /** The value that `read` finds, or null where the field is null. */
  readonly nullable: <Value>(name: string, read: (name: string) => Value) => Value | null;
  readonly object: (name: string) => Fields;
  readonly list: <Item>(name: string, read: (item: Fields) => Item) => readonly Item[];
  readonly texts: (name: string) => readonly string[];
  /** The object of text values under the name; values of other kinds are left out. */
  readonly textsByName: (name: string) => Readonly<Record<string, string>>;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** Throws `sdk/unexpected_answer`, as every reader does, with the path of what is wrong in the details. */
export function fieldsOf(value: unknown, path = ''): Fields {
  if (!isRecord(value)) throw unexpected(path || 'the body');
  const record = value;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);

  function reader<Value>(read: (found: unknown) => Value | undefined) {
    return (name: string): Value => {
      const found = read(record[name]);
      if (found === undefined) throw unexpected(at(name));
      return found;
    };
  }
  const array = reader((found): readonly unknown[] | undefined => (Array.isArray(found) ? found : undefined));
  const text = reader((found) => (typeof found === 'string' ? found : undefined));

  return {
    raw: record,
    text,
    number: reader((found) => (typeof found === 'number' ? found : undefined)),
    boolean: reader((found) => (typeof found === 'boolean' ? found : undefined)),
    oneOf: (name, words) => reader((found) => words.find((word) => word === found))(name),
    figure: reader(decodeFigure),
    signedFigure: reader(decodeSignedFigure),
    bytes: reader(decodeBase64),
    optionalText: (name) => (record[name] === undefined ? undefined : text(name)),
    nullable: (name, read) => (record[name] === null ? null : read(name)),
    object: (name) => fieldsOf(record[name], at(name)),
    list: (name, read) => array(name).map((item, index) => read(fieldsOf(item, `${at(name)}[${index}]`))),
    texts: (name) =>
      array(name).map((item) => {
        if (typeof item !== 'string') throw unexpected(at(name));
        return item;
      }),
    textsByName: (name) =>
      Object.fromEntries(
        Object.entries(fieldsOf(record[name], at(name)).raw).filter(
          (entry): entry is [string, string] => typeof entry[1] === 'string',
        ),
      ),
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unexpected(path: string) {
  return sdkError('sdk/unexpected_answer', { details: { path }, outcome: 'unknown' });
}
