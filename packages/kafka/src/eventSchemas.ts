/** The stored data of every event type and version as JSON schemas, from the codecs that read and write them. */
import type { Platform } from '@coffer/host';
import { z } from 'zod';
import { schemaIdOf } from './domain/schemaId.ts';

export type Streams = Platform['whole']['streams'];

export interface EventSchema {
  readonly category: string;
  readonly type: string;
  readonly version: number;
  /** JSON Schema, draft 2020-12. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** By category, type and version. */
export const eventSchemas = (streams: Streams): readonly EventSchema[] =>
  streams
    .flatMap((stream) =>
      stream(({ category, codec }) =>
        codec.dataSchemas.map(({ type, version, data }) => ({
          category,
          type,
          version,
          schema: schemaOf(schemaIdOf(category, type, version), type, data),
        })),
      ),
    )
    .sort((a, b) => compare(a.category, b.category) || compare(a.type, b.type) || a.version - b.version);

function schemaOf($id: string, title: string, data: z.ZodType): EventSchema['schema'] {
  // What is stored is the input of a codec. Objects stay open: a later release may add fields.
  const { $schema, ...schema } = z.toJSONSchema(data, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ jsonSchema }) => {
      // The keyword of OpenAPI, which is not one of JSON Schema.
      const { example } = jsonSchema;
      delete jsonSchema.example;
      if (example !== undefined) jsonSchema.examples = [example];
    },
  });
  return { $schema, $id, title, ...schema };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
