/** The parameters of paths. A value of the wrong form is simply not found (404). */
import { environment, idText } from '@coffer/kernel';
import { z } from 'zod';
import { type JsonSchema, jsonSchemaOf } from './jsonSchema.ts';

/** As OpenAPI describes it. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

const KNOWN: Readonly<Record<string, z.ZodType>> = {
  appId: idText('app'),
  environment,
  userId: idText('usr'),
  sessionId: idText('ses'),
  walletId: idText('wlt'),
  moveId: idText('mov'),
  webhookId: idText('whk'),
};
const ANY_NAME = z.string().min(1).meta({ example: 'example' });

export function pathParameters(path: string): readonly Parameter[] {
  return [...path.matchAll(/:([A-Za-z0-9_]+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchemaOf(KNOWN[name] ?? ANY_NAME, {}),
  }));
}
