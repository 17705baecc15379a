/** Reads and writes what the API takes and answers, by the shapes in `api.ts`. */
import { encodeAmount } from './amounts.ts';
import { type Fields, fieldsBy, type ObjectShape, type Shape } from './answers.ts';
import { type Resources, shapes } from './api.ts';
import { encodeBase64 } from './base64.ts';
import type { Page } from './ledgerTypes.ts';

/** Every reader throws `sdk/unexpected_answer`. */
export function readerOf<Name extends keyof Resources>(name: Name): (answer: Fields) => Resources[Name] {
  // Shape and type of a resource are generated from the same schema.
  return (answer) => fieldsBy(shapes[name], answer) as unknown as Resources[Name];
}

type Given<Resource> = { readonly [Field in keyof Resource]?: Resource[Field] | undefined };

/** The body of a request: the fields that the API knows and the caller has set. */
export function bodyOf<Name extends keyof Resources>(
  name: Name,
  request: Given<Resources[Name]>,
): Readonly<Record<string, unknown>> {
  return encodedBy(shapes[name], request);
}

function encodedBy({ fields }: ObjectShape, value: object): Readonly<Record<string, unknown>> {
  const given: Readonly<Record<string, unknown>> = { ...value };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([field]) => given[field] !== undefined)
      .map(([field, shape]) => [field, encoded(shape, given[field])]),
  );
}

function encoded(shape: Shape, value: unknown): unknown {
  if (typeof shape === 'object' && 'optional' in shape) return encoded(shape.optional, value);
  // The shape matches the value's type; for callers without types, encodeAmount refuses anything but a bigint.
  if (shape === 'figure') return encodeAmount(value as bigint);
  if (shape === 'bytes') return encodeBase64(value as Uint8Array);
  if (typeof shape === 'object' && 'list' in shape) {
    return (value as readonly object[]).map((item) => encodedBy(shape.list(), item));
  }
  return value;
}

export const pageOf =
  <Item>(readItem: (item: Fields) => Item) =>
  (answer: Fields): Page<Item> => ({
    items: answer.list('items', readItem),
    nextCursor: answer.nullable('nextCursor', answer.text),
  });
