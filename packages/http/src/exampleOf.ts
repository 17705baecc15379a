/** An example value for a JSON Schema: its own example if it has one, otherwise a value that fits. */
import type { JsonSchema } from './jsonSchema.ts';

/** Texts that fit most of our patterns, tried in order. */
const TEXTS = ['example-1', '1000', 'CHIP', 'example', 'A1', '0', 'a'];
const TEXT_BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00.000Z',
  email: 'player@example.com',
  uri: 'https://example.com/hook',
  uuid: '019a0c3e-7b1f-7c60-9e0e-2f4f6a1b2c3d',
};
const MAX_DEPTH = 12;

type Schemas = Readonly<Record<string, JsonSchema>>;

export function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  return build(schema, schemas, 0);
}

function build(schema: JsonSchema, schemas: Schemas, depth: number): unknown {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  if (typeof schema.$ref === 'string') {
    const target = schemas[schema.$ref.split('/').at(-1) ?? ''];
    return target ? build(target, schemas, depth + 1) : null;
  }
  const [alternative] = firstArray(schema.anyOf, schema.oneOf);
  if (alternative) return build(Object(alternative), schemas, depth + 1);
  const merged = firstArray(schema.allOf).map((part) => build(Object(part), schemas, depth + 1));
  if (merged.length > 0) return Object.assign({}, ...merged);
  return ofType(schema, schemas, depth);
}

function ofType(schema: JsonSchema, schemas: Schemas, depth: number): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'string') return textFor(schema);
  if (type === 'integer' || type === 'number') return Math.max(1, Number(schema.minimum ?? 1));
  if (type === 'boolean') return true;
  if (type === 'array') return [build(Object(schema.items), schemas, depth + 1)];
  if (type !== 'object') return null;
  const properties = Object.entries(Object(schema.properties));
  return Object.fromEntries(
    properties.map(([name, part]) => [name, build(Object(part), schemas, depth + 1)]),
  );
}

function textFor(schema: JsonSchema): string {
  const formatted = TEXT_BY_FORMAT[String(schema.format)];
  if (formatted !== undefined) return formatted;
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern) : /^/;
  const fits = (text: string) => pattern.test(text) && text.length >= Number(schema.minLength ?? 0);
  return TEXTS.find(fits) ?? 'string';
}

function firstArray(...candidates: readonly unknown[]): readonly unknown[] {
  const found = candidates.find((candidate) => Array.isArray(candidate));
  return Array.isArray(found) ? found : [];
}
