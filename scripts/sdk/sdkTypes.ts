/**
 * The SDK's types, and the table by which it reads answers, from the OpenAPI document: both come from the
 * same schema, so they cannot differ. Money is bigint, base64 is bytes, and collections are read-only.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { amount, figure, positiveAmount, signedFigure } from '@coffer/kernel';
import { compile } from 'json-schema-to-typescript';
import { z } from 'zod';
import { ROOT } from '../docs/contexts.ts';
import { BYTES, MADE, OPEN, RESOURCES } from './resources.ts';

type Schema = Readonly<Record<string, unknown>>;

export const SDK_TYPES = join(ROOT, 'packages/sdk/src/api.ts');

const HEADER = `/**
 * Written by \`node scripts/writeSdkTypes.ts\` from the OpenAPI document: do not edit.
 * Amounts are bigint base units.
 */
import type { Open, ShapesOf } from './answers.ts';

`;

export async function sdkTypes(document: unknown): Promise<string> {
  const components = record(record(record(document).components).schemas);
  const schemas = Object.fromEntries(
    Object.entries(RESOURCES).map(([name, [component, ...path]]) => [
      name,
      path.reduce(inside, record(components[component])),
    ]),
  );
  // A schema has one name, wherever it appears inside another.
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]));
  const { typed, shape } = mapping(components, names);
  const properties = Object.keys(schemas).map((name) => [name, { tsType: name }] as const);
  const types = await compile(
    {
      title: 'Resources',
      type: 'object',
      properties: Object.fromEntries(properties),
      required: Object.keys(schemas),
      $defs: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, typed(schema, name)])),
      additionalProperties: false,
    },
    'Resources',
    {
      additionalProperties: false,
      bannerComment: '',
      style: { singleQuote: true, printWidth: 110 },
      unreachableDefinitions: true,
    },
  );
  const shapes = Object.entries(schemas).map(([name, schema]) => `  ${name}: ${shape(schema, name)},\n`);
  return `${HEADER}${condensed(types)}
export const shapes: ShapesOf<Resources> = {
${shapes.join('')}};
`;
}

/** Makes fields read-only, keeps a comment on its field's line, and drops who refers to a definition. */
function condensed(types: string): string {
  return types
    .replaceAll(/^( *)("?\w+"?\??:)/gm, '$1readonly $2')
    .replaceAll(/^\/\*\*\n \* This interface was referenced[^/]*\*\/\n/gm, '')
    .replaceAll(/^( *)\/\*\*\n *\* (.*)\n *\*\/\n/gm, '$1/** $2 */\n');
}

const MONEY = new Map(
  [amount, positiveAmount, figure, signedFigure].map((schema) => [
    z.toJSONSchema(schema, { io: 'input' }).pattern,
    schema === signedFigure ? 'signedFigure' : 'figure',
  ]),
);

function mapping(components: Schema, names: ReadonlyMap<string, string>) {
  const nameOf = (schema: Schema): string | undefined =>
    typeof schema.$ref === 'string'
      ? names.get(JSON.stringify(components[schema.$ref.slice('#/components/schemas/'.length)]))
      : names.get(JSON.stringify(schema));

  /** In the form that the type generator takes. */
  function typed(schema: Schema, of: string, field = ''): Schema {
    const description = describedIn(schema, of, field);
    const as = (tsType: string) => ({ tsType, ...(description && { description }) });
    const name = field === '' ? undefined : nameOf(schema);
    if (name !== undefined) return as(name);
    if (isMoney(schema)) return as('bigint');
    if (BYTES.includes(field)) return as('Uint8Array');
    const inner = nullableOf(schema);
    if (inner) return as(`${typeName(typed(inner, of, field))} | null`);
    if (schema.type === 'array')
      return as(`readonly ${arrayItem(typeName(typed(itemOf(schema), of, field)))}[]`);
    const words = wordsOf(schema);
    if (words && isOpen(of, field)) return as(`Open<${words.map((word) => `'${word}'`).join(' | ')}>`);
    if (schema.type !== 'object')
      return { ...pick(schema, 'type', 'enum', 'const'), ...(description && { description }) };
    if (!schema.properties) return as('Readonly<Record<string, string>>');
    return {
      type: 'object',
      ...(description && { description }),
      additionalProperties: false,
      properties: mapFields(schema, (value, key) => typed(value, of, key)),
      required: requiredOf(schema, of),
    };
  }

  /** As the SDK reads and writes it. */
  function shape(schema: Schema, of: string, field = ''): string {
    const name = field === '' ? undefined : nameOf(schema);
    if (name !== undefined) return `() => shapes.${name}`;
    const money = isMoney(schema);
    if (money) return `'${money}'`;
    if (BYTES.includes(field)) return "'bytes'";
    const inner = nullableOf(schema);
    if (inner) return `{ nullable: ${shape(inner, of, field)} }`;
    if (schema.type === 'array') {
      const item = shape(itemOf(schema), of, field);
      return item === "'text'" || item === "'number'" ? item.replace(/'$/, "s'") : `{ list: ${item} }`;
    }
    const words = wordsOf(schema);
    if (words && !isOpen(of, field)) return `[${words.map((word) => `'${word}'`).join(', ')}]`;
    if (schema.type !== 'object') return `'${kindOf(schema)}'`;
    if (!schema.properties) return "'textsByName'";
    const required = requiredOf(schema, of);
    const fields = mapFields(schema, (value, key) => {
      const read = shape(value, of, key);
      return required.includes(key) ? read : `{ optional: ${read} }`;
    });
    return `{ fields: { ${Object.entries(fields)
      .map(([key, read]) => `${key}: ${read}`)
      .join(', ')} } }`;
  }

  return { typed, shape };
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

function kindOf({ type }: Schema): string {
  const kind = KINDS[String(type)];
  assert(kind, `the SDK does not know how to read ${String(type)}`);
  return kind;
}

const isMoney = ({ type, pattern }: Schema) => (type === 'string' ? MONEY.get(String(pattern)) : undefined);

const isOpen = (of: string, field: string) => OPEN.includes(field) || OPEN.includes(`${of}.${field}`);

/** The alternative to null. */
function nullableOf(schema: Schema): Schema | undefined {
  if (Array.isArray(schema.type) && schema.type.includes('null')) {
    return { ...schema, type: schema.type.find((type) => type !== 'null') };
  }
  if (!Array.isArray(schema.anyOf)) return undefined;
  const [inner, ...others] = schema.anyOf.map(record).filter(({ type }) => type !== 'null');
  assert(inner && others.length === 0, 'the SDK reads a value or null, and no other alternatives');
  return inner;
}

function wordsOf({ enum: words, const: word }: Schema): readonly string[] | undefined {
  if (typeof word === 'string') return [word];
  return Array.isArray(words) ? words.map(String) : undefined;
}

const isRequest = (of: string) => RESOURCES[of]?.[0].endsWith('Request') === true;

function requiredOf(schema: Schema, of: string): readonly string[] {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  return isRequest(of) ? required.filter((name) => !MADE.includes(name)) : required;
}

/** Without what it says about text, since amounts and base64 are text only in the API. */
function describedIn({ description, type, pattern }: Schema, of: string, field: string): string | undefined {
  const made =
    isRequest(of) && MADE.includes(field) ? 'Generated if absent, once for all attempts of the call.' : '';
  const said = typeof description === 'string' ? description : '';
  if (isMoney({ type, pattern }))
    return said.replace(/, as a (?:signed )?decimal string/, '').replaceAll('"', '');
  if (BYTES.includes(field)) return said.replace(/ in base64/, '').replace(/^Base64: the/, 'The');
  return [said, made].filter((sentence) => sentence !== '').join(' ') || undefined;
}

function typeName(schema: Schema): string {
  if (typeof schema.tsType === 'string') return schema.tsType;
  const words = wordsOf(schema);
  if (words) return words.map((word) => `'${word}'`).join(' | ');
  assert(schema.type !== 'object', 'an object inside a list or beside null is a resource of its own');
  return schema.type === 'string' ? 'string' : schema.type === 'boolean' ? 'boolean' : 'number';
}

const arrayItem = (type: string) => (type.includes('|') && !type.startsWith('Open<') ? `(${type})` : type);

const itemOf = (schema: unknown): Schema => record(record(schema).items);

/** The object in the field, alone, next to null or in a list. */
function inside(schema: Schema, field: string): Schema {
  const held = record(record(schema.properties)[field]);
  return held.type === 'array' ? itemOf(held) : (nullableOf(held) ?? held);
}

function mapFields<Mapped>(
  schema: Schema,
  map: (schema: Schema, name: string) => Mapped,
): Record<string, Mapped> {
  const entries = Object.entries(record(schema.properties));
  return Object.fromEntries(entries.map(([name, value]) => [name, map(record(value), name)]));
}

const pick = (schema: Schema, ...keywords: readonly string[]) =>
  Object.fromEntries(
    keywords.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]),
  );

function record(value: unknown): Schema {
  assert(typeof value === 'object' && value !== null, 'the document has another form than expected');
  return { ...value };
}
