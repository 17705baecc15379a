/** What the documentation page says about schemas and how it calls an endpoint. */
import type { JsonSchema, Operation } from './openApi.ts';

export interface Field {
  /** `operations[].amount`. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

const MAX_DEPTH = 6;

/** The fields of a schema, nested ones by their path. */
export function fieldsOf(schema: JsonSchema, schemas: Schemas): readonly Field[] {
  return below(schema, schemas, '', 0);
}

function below(schema: JsonSchema, schemas: Schemas, prefix: string, depth: number): readonly Field[] {
  const target = resolved(schema, schemas);
  if (depth > MAX_DEPTH) return [];
  if (target.type === 'array') return below(Object(target.items), schemas, `${prefix}[]`, depth + 1);
  const variants = variantsOf(target);
  if (variants.length > 0)
    return uniqueByPath(variants.flatMap((variant) => below(variant, schemas, prefix, depth + 1)));

  const requiredNames = Array.isArray(target.required) ? target.required : [];
  return Object.entries(Object(target.properties)).flatMap(([name, part]) => {
    const property = resolved(Object(part), schemas);
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const description = typeof property.description === 'string' ? property.description : '';
    const field = { path, type: schemaLabel(property), required: requiredNames.includes(name), description };
    return [field, ...below(property, schemas, path, depth + 1)];
  });
}

/** `string`, `integer`, `"a" | "b"`, `array of object`, with the pattern where there is a short one. */
export function schemaLabel(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const variants = variantsOf(schema);
  if (variants.length > 0) return [...new Set(variants.map(schemaLabel))].join(' | ');
  if (schema.type === 'array') return `array of ${schemaLabel(Object(schema.items))}`;
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : String(schema.type ?? 'any');
  if (typeof schema.format === 'string') return `${type} (${schema.format})`;
  if (typeof schema.pattern === 'string' && schema.pattern.length <= 60) return `${type} ${schema.pattern}`;
  return type;
}

/** A command that can be pasted into a shell. */
export function curlOf({
  method,
  path,
  operation,
}: {
  method: string;
  path: string;
  operation: Operation;
}): string {
  const query = (operation.parameters ?? []).filter(
    (parameter) => parameter.in === 'query' && parameter.required,
  );
  const search = query.map(({ name }) => `${name}=…`).join('&');
  const lines = [`curl -X ${method} "$COFFER_URL${path}${search === '' ? '' : `?${search}`}"`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $COFFER_KEY"');
  const example = operation.requestBody?.content['application/json']?.example;
  if (example !== undefined) {
    lines.push(
      '-H "Content-Type: application/json"',
      `-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`,
    );
  }
  return lines.join(' \\\n  ');
}

function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (typeof schema.$ref !== 'string') return schema;
  return schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {};
}

function variantsOf(schema: JsonSchema): readonly JsonSchema[] {
  const variants = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  return Array.isArray(variants) ? variants : [];
}

function uniqueByPath(fields: readonly Field[]): readonly Field[] {
  return [...new Map(fields.map((field) => [field.path, field])).values()];
}
