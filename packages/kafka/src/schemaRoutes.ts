/** The schemas of the stored events, for whoever reads topics or an exported log. */
import {
  DOCUMENT_MAX_AGE_SECONDS,
  type Endpoint,
  endpoint,
  type JsonDocument,
  jsonDocument,
} from '@coffer/http';
import { z } from 'zod';
import { reject } from './errors.ts';
import { type EventSchema, eventSchemas, type Streams } from './eventSchemas.ts';

const listedSchema = z.strictObject({
  category: z.string(),
  type: z.string(),
  version: z.int(),
  id: z.string().meta({ description: 'The `$id` of the schema, and `dataschema` of messages in Kafka.' }),
  path: z.string().meta({ description: 'Where the schema is, below the base address.' }),
});

/** The documents are made on the first request: most processes are never asked. */
export function schemaEndpoints(streams: Streams): readonly Endpoint[] {
  let made: { readonly index: JsonDocument; readonly byPath: ReadonlyMap<string, JsonDocument> } | undefined;
  const documents = () => {
    made ??= documentsOf(eventSchemas(streams));
    return made;
  };
  return [
    endpoint({
      method: 'GET',
      path: '/schemas',
      credential: 'none',
      summary: 'List the schemas of stored events',
      description: 'Every type and version that the log, its exports and topics in Kafka can hold.',
      success: {
        status: 200,
        schema: z.strictObject({ schemas: z.array(listedSchema) }),
        cached: true,
      },
      errors: [],
      handle: () => ({ status: 200, document: documents().index, maxAgeSeconds: DOCUMENT_MAX_AGE_SECONDS }),
    }),
    endpoint({
      method: 'GET',
      path: '/schemas/:category/:type/:version',
      credential: 'none',
      summary: 'Get the schema of a stored event',
      description:
        'JSON Schema, draft 2020-12, of the data of one event type in one version. A version only ever gains optional fields.',
      success: { status: 200, schema: z.looseObject({ $id: z.string() }), cached: true },
      errors: ['kafka/schema_not_found'],
      handle: ({ params: { category, type, version } }) => {
        const document = documents().byPath.get(`/schemas/${category}/${type}/${version}`);
        if (!document) throw reject('kafka/schema_not_found');
        return { status: 200, document, maxAgeSeconds: DOCUMENT_MAX_AGE_SECONDS };
      },
    }),
  ];
}

function documentsOf(schemas: readonly EventSchema[]) {
  const placed = schemas.map((one) => ({
    ...one,
    path: `/schemas/${one.category}/${one.type}/${one.version}`,
  }));
  return {
    index: jsonDocument({
      schemas: placed.map(({ category, type, version, schema, path }) => ({
        category,
        type,
        version,
        id: schema.$id,
        path,
      })),
    }),
    byPath: new Map(placed.map(({ path, schema }) => [path, jsonDocument(schema)])),
  };
}
