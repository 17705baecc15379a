/** Calls the service as its OpenAPI document describes: with the examples, and along the links. */
import type { Answer, Client } from '@coffer/host/testing';

type Values = Readonly<Record<string, unknown>>;

export interface LinkedOperation {
  readonly method: string;
  /** With `{name}` parameters. */
  readonly path: string;
  readonly credential: string | undefined;
  readonly parameters: readonly Parameter[];
  /** An example of the body; undefined if there is none. */
  readonly body: unknown;
  /** By operation. */
  readonly links: Readonly<Record<string, { readonly parameters?: Values; readonly requestBody?: Values }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: { readonly examples?: readonly unknown[]; readonly enum?: readonly unknown[] };
}

/** A request and its answer, as far as links refer to them. */
export interface Told {
  /** Of path and query. */
  readonly values: Values;
  readonly body: unknown;
  readonly answer: { readonly json: unknown };
}

export interface Step extends Told {
  readonly operation: LinkedOperation;
  readonly answer: Answer;
}

/** By operation id. */
export function linkedOperations(document: Values): ReadonlyMap<string, LinkedOperation> {
  const entries = Object.entries(Object(document.paths)).flatMap(([path, methods]) =>
    Object.entries(Object(methods)).map(([method, described]) => {
      const { operationId, parameters = [], requestBody, responses, security = [] } = Object(described);
      const success = Object.entries(Object(responses)).find(([status]) => status < '300')?.[1];
      const operation: LinkedOperation = {
        method: method.toUpperCase(),
        path,
        credential: Object.keys(Object(security[0]))[0],
        parameters,
        body: requestBody?.content['application/json'].example,
        links: Object(success).links ?? {},
      };
      return [String(operationId), operation] as const;
    }),
  );
  return new Map(entries);
}

/** The operation with its examples, except for the given path, query and body. */
export async function askByExample(
  client: Client,
  operation: LinkedOperation,
  key: string | null,
  given: Values = {},
): Promise<Step> {
  const { method, path, parameters, body } = operation;
  const values = Object.fromEntries(
    parameters.map(({ name, schema }) => [
      name,
      given[name] ?? schema.examples?.[0] ?? schema.enum?.[0] ?? '1',
    ]),
  );
  const query = new URLSearchParams();
  for (const { name, in: place, required } of parameters) {
    if (place === 'query' && (required || name in given)) query.set(name, String(values[name]));
  }
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name])));
  const inBody = Object.entries(given).filter(([name]) => !parameters.some((one) => one.name === name));
  const sent = body === undefined ? undefined : { ...Object(body), ...Object.fromEntries(inBody) };
  const answer = await client.send(method, query.size > 0 ? `${address}?${query}` : address, sent, { key });
  return { operation, values, body: sent, answer };
}

export function linkedValues(step: Step, operationId: string): Values {
  const link = step.operation.links[operationId];
  if (!link) throw new Error(`${step.operation.path} has no link to ${operationId}.`);
  const told = { ...link.parameters, ...link.requestBody };
  return Object.fromEntries(Object.entries(told).map(([name, text]) => [name, meantBy(step, String(text))]));
}

/** A runtime expression. Source: OpenAPI 3.1, Runtime Expressions. */
export function meantBy({ values, body, answer }: Told, expression: string): unknown {
  const [, source = '', path = ''] =
    /^\$(response\.body|request\.body|request\.path)[#.]?(.*)$/.exec(expression) ?? [];
  if (source === 'request.path') return values[path];
  const parts = path.split('/').filter((part) => part !== '');
  return parts.reduce<unknown>(
    (value, part) => Object(value)[part],
    source === 'request.body' ? body : answer.json,
  );
}
