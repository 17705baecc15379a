/** Converts the schemas that check requests to JSON Schema. Codecs show their wire side, so an amount is a string. */
import { z } from 'zod';

export type JsonSchema = { readonly [keyword: string]: unknown };
type Schemas = Record<string, JsonSchema>;

/**
 * `.meta()` of a schema is copied unchanged: it documents patterns and bounds that code checks. `example` is what a
 * caller would write; `wire` replaces the whole schema. The schema's own definitions are added to `schemas`.
 */
export function jsonSchemaOf(schema: z.ZodType, schemas: Schemas): JsonSchema {
  const generated = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { wire, description, example } = jsonSchema;
      delete jsonSchema.example;
      // zod drops `examples` when a schema transforms.
      if (example !== undefined) jsonSchema.examples = [example];
      if (wire === undefined) return;
      for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
      // Kept, because the override of the enclosing schema replaces it again.
      Object.assign(jsonSchema, wire, description !== undefined && { description });
    },
  });
  const { $schema: _dialect, $defs: definitions, id: _id, ...rest } = relinked(generated);
  for (const [name, definition] of Object.entries(Object(definitions))) {
    const { id: _definitionId, ...withoutId } = Object(definition);
    schemas[name] ??= withoutId;
  }
  return rest;
}

/** zod puts definitions beside each schema; the document has one place for all. */
function relinked(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

const FORMED = ['pattern', 'format', 'enum', 'const'];

/** The same schema, for texts that may not hold a NUL; only texts without a pattern could. */
export function withoutNul(schema: JsonSchema): JsonSchema {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === 'examples' ? value : walked(value),
    ]),
  );
  if (schema.type !== 'string' || FORMED.some((keyword) => keyword in schema)) return inner;
  return { ...inner, pattern: '^[^\\u0000]*$' };
}

function walked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(walked);
  return typeof value === 'object' && value !== null ? withoutNul({ ...value }) : value;
}
