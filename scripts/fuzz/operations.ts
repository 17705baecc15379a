/** The operations of OpenAPI documents, each with its inputs and a validator of its answers. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { default as addFormats } from 'ajv-formats';
import type { Schema, Schemas } from './values.ts';

export interface Operation {
  readonly id: string;
  readonly method: string;
  /** Where the path begins: `http://host:port/v1`. */
  readonly baseUrl: string;
  /** With `{name}` parameters. */
  readonly path: string;
  readonly pattern: RegExp;
  /** The name of the security scheme; undefined if there is none. */
  readonly credential: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly schemas: Schemas;
  /** By status. */
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export interface DocumentedAnswer {
  /** By media type; empty: there is no body. */
  readonly bodies: ReadonlyMap<string, () => ValidateFunction>;
  readonly links: readonly Link[];
}

interface Link {
  readonly operationId: string;
  /** Runtime expressions, by the name of the parameter or field. */
  readonly values: Readonly<Record<string, string>>;
}

export function operationsOf(documents: readonly object[]): readonly Operation[] {
  const found = new Map<string, Operation>();
  for (const [index, document] of documents.entries()) {
    for (const operation of operationsIn(document, `document:${index}`)) {
      if (!found.has(operation.id)) found.set(operation.id, operation);
    }
  }
  return [...found.values()];
}

function operationsIn(document: object, name: string): readonly Operation[] {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ ...document, $id: name });
  const validatorAt = (...path: readonly string[]) => {
    let compiled: ValidateFunction | undefined;
    const pointer = path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    return () => {
      compiled ??= ajv.compile({ $ref: `${name}#/${encodeURI(pointer)}` });
      return compiled;
    };
  };
  const { paths, components, servers } = Object(document);
  return Object.entries(Object(paths)).flatMap(([path, methods]) =>
    Object.entries(Object(methods)).map(([method, described]): Operation => {
      const { operationId, parameters = [], requestBody, responses, security = [] } = Object(described);
      const answers = Object.entries(Object(responses)).map(([status, response]) => {
        const { content, links } = Object(response);
        const bodies = Object.keys(Object(content)).map(
          (type) =>
            [
              type,
              validatorAt('paths', path, method, 'responses', status, 'content', type, 'schema'),
            ] as const,
        );
        return [Number(status), { bodies: new Map(bodies), links: linksOf(links) }] as const;
      });
      return {
        id: operationId,
        method: method.toUpperCase(),
        baseUrl: servers[0].url,
        path,
        pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        credential: Object.keys(Object(security[0]))[0],
        parameters,
        body: requestBody?.content['application/json'].schema,
        schemas: components.schemas,
        answers: new Map(answers),
      };
    }),
  );
}

function linksOf(links: unknown): readonly Link[] {
  return Object.values(Object(links)).map((link) => {
    const { operationId, parameters, requestBody } = Object(link);
    return { operationId, values: { ...parameters, ...requestBody } };
  });
}
