import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

export const kafkaErrors = {
  'kafka/schema_not_found': {
    status: 404,
    message: 'There is no stored event of this category, type and version. GET /v1/schemas lists them all.',
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(kafkaErrors);
