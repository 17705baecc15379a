/** Whether an answer is documented. */
import type { ErrorObject } from 'ajv';
import type { Answered, Asked } from './exchange.ts';
import type { DocumentedAnswer, Operation } from './operations.ts';

/** What is wrong with it; undefined if nothing is. */
export function problemOf(
  operation: Operation | undefined,
  { target }: Pick<Asked, 'target'>,
  answered: Answered,
): string | undefined {
  const { status, headers } = answered;
  if (status >= 500 && status !== 503) return `answered ${status}`;
  if (headers['x-request-id'] === undefined) return `answered ${status} without X-Request-Id`;
  // A byte in the address that HTTP does not allow: no operation has been looked up.
  if (status === 400 && !/^[\x21-\x7e]*$/.test(target)) return refusedBeforeAnyOperation(undefined, answered);
  const documented = operation?.answers.get(status);
  if (documented) {
    if ((status === 429 || status === 503) && headers['retry-after'] === undefined) {
      return `answered ${status} without Retry-After`;
    }
    return bodyProblem(documented, answered);
  }
  return refusedBeforeAnyOperation(operation, answered);
}

function bodyProblem({ bodies }: DocumentedAnswer, answered: Answered): string | undefined {
  const { status, headers, bytes } = answered;
  if (bodies.size === 0) {
    return bytes.length > 0 ? `answered ${status} with a body, but none is documented` : undefined;
  }
  const type = String(headers['content-type']).split(';')[0] ?? '';
  const validator = bodies.get(type);
  if (!validator) return `answered ${status} with ${type}, which is not documented`;
  const texts = type === 'application/x-ndjson' ? linesOf(bytes) : [bytes.toString()];
  for (const text of texts) {
    const validate = validator();
    const value = jsonOf(text);
    if (value === undefined) return `answered ${status} with what is not JSON: ${text.slice(0, 300)}`;
    if (!validate(value)) {
      return `answered ${status} with what its schema forbids (${toldOf(validate.errors)}): ${text.slice(0, 600)}`;
    }
  }
  return undefined;
}

/** Answers from before any operation was reached. */
const BEFORE_ANY: Readonly<Record<string, number>> = {
  'request/not_found': 404,
  'request/method_not_allowed': 405,
  'request/headers_too_large': 431,
  'request/malformed': 400,
};

function refusedBeforeAnyOperation(
  operation: Operation | undefined,
  { status, bytes }: Answered,
): string | undefined {
  const { code } = Object(jsonOf(bytes.toString()));
  const isRefusal = typeof code === 'string' && BEFORE_ANY[code] === status;
  // Once an operation is found it answers by itself; only headers are checked before.
  if (isRefusal && (!operation || status === 431)) return undefined;
  return `answered ${status} ${code ?? bytes.toString().slice(0, 300)}, which is not documented`;
}

export const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const linesOf = (bytes: Buffer): readonly string[] =>
  bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '');

const toldOf = (errors: readonly ErrorObject[] | null | undefined): string =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ');
