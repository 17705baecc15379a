/** Compares what the service has answered with what its own OpenAPI document says that it may answer. */
import type { Answer, Client } from './client.ts';

export interface AnsweredError {
  readonly method: string;
  /** Below the base address, with its query. */
  readonly path: string;
  readonly code: string;
}

/** Answered where no operation is. */
const NO_OPERATION = ['request/not_found', 'request/method_not_allowed'];

/** A client that tells of every error that it is answered. */
export function observedClient(client: Client, onError: (error: AnsweredError) => void): Client {
  const observed = (method: string, path: string, answer: Answer): Answer => {
    const { code } = answer.json;
    if (answer.status >= 400 && typeof code === 'string') onError({ method, path, code });
    return answer;
  };
  return {
    ...client,
    send: async (method, path, body, options) =>
      observed(method, path, await client.send(method, path, body, options)),
    get: async (path, options) => observed('GET', path, await client.get(path, options)),
    post: async (path, body, options) => observed('POST', path, await client.post(path, body, options)),
  };
}

/** The errors that the document does not name at the operation that answered them, as "POST /path: code". */
export async function undeclaredErrors(
  client: Client,
  answered: readonly AnsweredError[],
): Promise<readonly string[]> {
  const document = (await client.get('/openapi.json')).json;
  const operations = operationsOf(document);
  const undeclared = answered.flatMap(({ method, path, code }) => {
    if (NO_OPERATION.includes(code)) return [];
    const [bare = ''] = path.split('?');
    const operation = operations.find((one) => one.method === method && one.pattern.test(bare));
    return operation?.codes.has(code) ? [] : [`${method} ${operation?.path ?? bare}: ${code}`];
  });
  return [...new Set(undeclared)].sort();
}

export interface DocumentedOperation {
  readonly method: string;
  /** With `{name}` parameters. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly codes: ReadonlySet<string>;
}

export function operationsOf(document: Readonly<Record<string, unknown>>): readonly DocumentedOperation[] {
  const found = Object.entries(Object(document.paths)).flatMap(([path, operations]) =>
    Object.entries(Object(operations)).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      codes: codesOf(Object(operation).responses),
    })),
  );
  // A literal segment goes before a parameter, as it does in the router.
  return found.sort((left, right) => left.path.split('{').length - right.path.split('{').length);
}

function codesOf(responses: unknown): ReadonlySet<string> {
  const codes = new Set<string>();
  for (const response of Object.values(Object(responses))) {
    const examples = Object(response).content?.['application/json']?.examples;
    for (const code of Object.keys(Object(examples))) codes.add(code);
  }
  return codes;
}
