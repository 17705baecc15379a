/** A schema that checks, as JSON Schema. Codecs show their wire side, so an amount is a string here too. */
import { z } from 'zod';

export type JsonSchema = { readonly [keyword: string]: unknown };
type Schemas = Record<string, JsonSchema>;

/**
 * What `.meta()` says of a schema stands in it as it is: patterns and bounds that a check in code holds are told there.
 * `example` is one of what callers write; `wire` replaces the whole schema. What the schema has in definitions of its own comes into `schemas`.
 */
export function jsonSchemaOf(schema: z.ZodType, schemas: Schemas): JsonSchema {
  const generated = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const { wire, description, example } = jsonSchema;
      delete jsonSchema.example;
      // zod takes `examples` away where a schema transforms.
      if (example !== undefined) jsonSchema.examples = [example];
      if (wire === undefined) return;
      for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
      // Kept, as the override of whoever stands around it replaces it again.
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

/** Definitions stand beside each schema where zod puts them and in one place in the document. */
function relinked(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

const FORMED = ['pattern', 'format', 'enum', 'const'];

/** The same where no text may hold a NUL, which only texts of any form could. */
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
