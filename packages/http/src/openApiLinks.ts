/** Links: which answer leads to which other operation, so that tools can walk from one to the next. */
import type { Endpoint } from './endpoint.ts';
import { operationIdOf } from './operationId.ts';

export interface LinkObject {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, string>>;
}

/** The links of an operation, by target. Targets in another document are left out. */
export function linksOf(
  { links = {} }: Pick<Endpoint, 'links'>,
  endpoints: readonly Endpoint[],
): Readonly<Record<string, LinkObject>> {
  const found = Object.entries(links).flatMap(([to, values]) => {
    const target = endpoints.find(({ method, path }) => `${method} ${path}` === to);
    return target ? [[operationIdOf(target.method, target.path), linkTo(target, values)] as const] : [];
  });
  return Object.fromEntries(found);
}

function linkTo({ method, path }: Endpoint, values: Readonly<Record<string, string>>): LinkObject {
  const isInPath = ([name]: readonly [string, string]) => path.split('/').includes(`:${name}`);
  const entries = Object.entries(values);
  const parameters = entries.filter((entry) => isInPath(entry) || method === 'GET');
  const body = entries.filter((entry) => !parameters.includes(entry));
  return {
    operationId: operationIdOf(method, path),
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    ...(body.length > 0 && { requestBody: Object.fromEntries(body) }),
  };
}
