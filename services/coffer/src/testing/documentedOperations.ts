/** The operations in the service's own OpenAPI document, and the codes that each declares. */
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
  // A literal segment takes precedence over a parameter, as in the router.
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
