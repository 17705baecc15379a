/**
 * Reads the fields of an answer one by one. Only the fields that the SDK hands out are read, so that the
 * service may add others; a missing field, or one of another type, means that something other than Coffer has
 * answered.
 */
import { decodeFigure, decodeSignedFigure } from './amounts.ts';
import { decodeBase64 } from './base64.ts';
import { sdkError } from './cofferError.ts';

/** One of the words known today; a newer service may add others. */
export type Open<Word extends string> = Word | (string & Record<never, never>);

/** How a field is represented in the JSON of a request or an answer. A list of words: one of them. */
export type Shape =
  | 'text'
  | 'number'
  | 'boolean'
  | 'figure'
  | 'signedFigure'
  | 'bytes'
  | 'texts'
  | 'numbers'
  | 'textsByName'
  | readonly string[]
  | { readonly nullable: Shape }
  | { readonly optional: Shape }
  | { readonly list: () => ObjectShape }
  | ObjectShape
  | (() => ObjectShape);

export interface ObjectShape {
  readonly fields: Readonly<Record<string, Shape>>;
}

/** Names each field of each resource. */
export type ShapesOf<Resources> = {
  readonly [Name in keyof Resources]: {
    readonly fields: { readonly [Field in keyof Required<Resources[Name]>]: Shape };
  };
};

export interface Fields {
  readonly text: (name: string) => string;
  readonly number: (name: string) => number;
  readonly boolean: (name: string) => boolean;
  readonly oneOf: <Word extends string>(name: string, words: readonly Word[]) => Word;
  readonly figure: (name: string) => bigint;
  readonly signedFigure: (name: string) => bigint;
  /** Decoded from base64 text. */
  readonly bytes: (name: string) => Uint8Array;
  /** The value that `read` returns, or null if the field is null. */
  readonly nullable: <Value>(name: string, read: (name: string) => Value) => Value | null;
  readonly object: (name: string) => Fields;
  readonly list: <Item>(name: string, read: (item: Fields) => Item) => readonly Item[];
  readonly texts: (name: string) => readonly string[];
  readonly numbers: (name: string) => readonly number[];
  /** The object of text values under the name; values of other kinds are left out. */
  readonly textsByName: (name: string) => Readonly<Record<string, string>>;
  readonly raw: Readonly<Record<string, unknown>>;
}

/** Throws `sdk/unexpected_answer`, as every reader does, with the path of the faulty field in the details. */
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
  function all<Item>(name: string, isItem: (item: unknown) => item is Item): readonly Item[] {
    const items = array(name);
    if (!items.every(isItem)) throw unexpected(at(name));
    return items;
  }
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
    nullable: (name, read) => (record[name] === null ? null : read(name)),
    object: (name) => fieldsOf(record[name], at(name)),
    list: (name, read) => array(name).map((item, index) => read(fieldsOf(item, `${at(name)}[${index}]`))),
    texts: (name) => all(name, isText),
    numbers: (name) => all(name, isNumber),
    textsByName: (name) =>
      Object.fromEntries(
        Object.entries(fieldsOf(record[name], at(name)).raw).filter(
          (entry): entry is [string, string] => typeof entry[1] === 'string',
        ),
      ),
  };
}

/** The fields of the shape; an optional one that is absent is undefined. */
export function fieldsBy({ fields }: ObjectShape, answer: Fields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, shape]) => [name, readBy(shape, name, answer)]),
  );
}

function readBy(shape: Shape, name: string, answer: Fields): unknown {
  if (typeof shape === 'string') return answer[shape](name);
  if (typeof shape === 'function') return fieldsBy(shape(), answer.object(name));
  if ('fields' in shape) return fieldsBy(shape, answer.object(name));
  if ('list' in shape) return answer.list(name, (item) => fieldsBy(shape.list(), item));
  if ('nullable' in shape) return answer.nullable(name, () => readBy(shape.nullable, name, answer));
  if (!('optional' in shape)) return answer.oneOf(name, shape);
  return answer.raw[name] === undefined ? undefined : readBy(shape.optional, name, answer);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unexpected(path: string) {
  return sdkError('sdk/unexpected_answer', { details: { path }, outcome: 'unknown' });
}
