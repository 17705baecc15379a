/** Values for a JSON Schema: some that it allows, mostly at its limits, and some that it does not. */

import type { Random } from '@coffer/testing';
import fc from 'fast-check';

export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;
export type Values = Readonly<Record<string, unknown>>;

/** For places that take any text, and, where a pattern allows it, for others. */
const USUAL_TEXTS = ['0', '1', '7', '1000', '1000000', 'test', 'CHIP', 'SOL', 'native', 'dice'];
const EDGES = ['18446744073709551615', '9223372036854775807', '', ' ', 'ß', '𝔘', '\u202e', 'x'.repeat(64)];
const LONGEST = 5_000;
const DEEPEST = 5;

const NASTY: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  '',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '-1',
  '01',
  '1e3',
  '0x10',
  ' 1',
  '1\n',
  '١٢٣',
  '18446744073709551616',
  '9'.repeat(4_000),
  '9999-99-99T99:99:99Z',
  '275760-09-13T00:00:00.001Z',
  '__proto__',
  'constructor',
  "' or 1=1 --",
  '%00',
  '../../etc/passwd',
  '\ufeff',
  '\uffff',
  'x'.repeat(10_000),
  [],
  {},
  [[]],
  [null],
  { length: 1 },
  { $ref: '#' },
  { toString: 1 },
];

/** Made once per schema, because parsing the patterns costs time. */
const made = new WeakMap<Schema, fc.Arbitrary<unknown>>();

export function validValue(schema: Schema, schemas: Schemas, random: Random): unknown {
  const arbitrary = made.get(schema) ?? arbitraryOf(schema, schemas, 0);
  made.set(schema, arbitrary);
  return sampleOf(arbitrary, random);
}

const sampleOf = <Value>(arbitrary: fc.Arbitrary<Value>, random: Random): Value => {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed: Math.floor(random() * 2 ** 31) });
  // One was requested.
  return value as Value;
};

export const oneOf = <Item>(items: readonly Item[], random: Random): Item => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is none to choose from.');
  return item;
};

/** The same, except for one place that is now wrong, missing or superfluous. */
export function brokenValue(value: unknown, random: Random): unknown {
  const isLeaf = typeof value !== 'object' || value === null;
  if (isLeaf || random() < 0.1) return NASTY[Math.floor(random() * NASTY.length)];
  if (Array.isArray(value)) {
    if (value.length === 0 || random() < 0.2) return [...value, ...value, brokenValue(value[0], random)];
    const at = Math.floor(random() * value.length);
    return value.map((item, index) => (index === at ? brokenValue(item, random) : item));
  }
  const entries = Object.entries(value);
  const choice = random();
  if (entries.length === 0 || choice < 0.2) {
    const name = oneOf(
      ['surplus', '__proto__', 'constructor', '', '\0', 'a'.repeat(3_000), '\ud800'],
      random,
    );
    return Object.fromEntries([...entries, [name, NASTY[Math.floor(random() * NASTY.length)]]]);
  }
  const at = Math.floor(random() * entries.length);
  if (choice < 0.4) return Object.fromEntries(entries.filter((_, index) => index !== at));
  return Object.fromEntries(
    entries.map(([name, field], index) => [name, index === at ? brokenValue(field, random) : field]),
  );
}

export const nastyText = (random: Random): string => {
  const text = NASTY[Math.floor(random() * NASTY.length)];
  return typeof text === 'string' ? text : JSON.stringify(text);
};

function arbitraryOf(schema: Schema, schemas: Schemas, depth: number): fc.Arbitrary<unknown> {
  const inner = (one: unknown) => arbitraryOf(Object(one), schemas, depth + 1);
  if (typeof schema.$ref === 'string') return inner(schemas[schema.$ref.split('/').at(-1) ?? '']);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const choices = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(choices)) {
    return depth > DEEPEST ? fc.constant(null) : fc.oneof(...choices.map(inner));
  }
  if (Array.isArray(schema.allOf)) return inner(Object.assign({}, ...schema.allOf));
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.length > 1) return fc.oneof(...types.map((type) => inner({ ...schema, type })));
  switch (types[0]) {
    case 'string':
      return texts(schema);
    case 'integer':
    case 'number':
      return wholeNumbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrays(schema, inner, depth);
    case 'object':
      return objects(schema, inner, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function texts({ pattern, format, minLength = 0, maxLength, examples = [] }: Schema): fc.Arbitrary<string> {
  const least = Number(minLength);
  const most = Math.min(Number(maxLength ?? LONGEST), LONGEST);
  const expression = typeof pattern === 'string' ? new RegExp(pattern, 'u') : undefined;
  const fits = (text: string) =>
    [...text].length >= least && [...text].length <= most && (expression?.test(text) ?? true);
  const usual = [...(Array.isArray(examples) ? examples.map(String) : []), ...USUAL_TEXTS].filter(fits);
  const edges = EDGES.filter(fits);
  const formed =
    format === 'uuid'
      ? fc.uuid()
      : format === 'uri'
        ? fc.webUrl()
        : expression
          ? fc.stringMatching(expression, { size: 'small' }).filter(fits)
          : fc.string({ unit: 'binary', minLength: least, maxLength: Math.min(most, least + 40) });
  const longest = expression || format ? [] : [fc.constant('x'.repeat(most))];
  return fc.oneof(
    { weight: 3, arbitrary: formed },
    ...(usual.length > 0 ? [{ weight: 6, arbitrary: fc.constantFrom(...usual) }] : []),
    ...(edges.length > 0 ? [{ weight: 1, arbitrary: fc.constantFrom(...edges) }] : []),
    ...longest.map((arbitrary) => ({ weight: 1, arbitrary })),
  );
}

function wholeNumbers({ minimum = -1_000, maximum = 1_000_000 }: Schema): fc.Arbitrary<number> {
  const [min, max] = [Number(minimum), Number(maximum)];
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(min, max) },
    { weight: 4, arbitrary: fc.integer({ min, max: Math.min(max, min + 20) }) },
  );
}

function arrays(
  { items, minItems = 0, maxItems }: Schema,
  inner: (schema: unknown) => fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown[]> {
  const least = Number(minItems);
  const most = depth > DEEPEST ? least : Math.min(Number(maxItems ?? 6), least + 6);
  return fc.array(inner(items), { minLength: least, maxLength: most });
}

function objects(
  { properties, required = [], additionalProperties, examples }: Schema,
  inner: (schema: unknown) => fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(Object(properties)).map(([name, schema]) => [name, inner(schema)] as const);
  const requiredKeys = Array.isArray(required) ? required : [];
  const record = fc.record(Object.fromEntries(fields), { requiredKeys });
  if (fields.length > 0 || !additionalProperties || depth > DEEPEST) return record;
  const free = fc.dictionary(fc.string({ maxLength: 10 }), inner(additionalProperties), { maxKeys: 4 });
  return Array.isArray(examples) ? fc.oneof(fc.constantFrom(...examples), free) : free;
}
