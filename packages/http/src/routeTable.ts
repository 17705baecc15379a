/**
 * Which endpoint stands at a path. Literal segments win over `:name` ones whatever the order of mounting,
 * paths are exact (case, trailing slash), and a known path with another method is told from an unknown one.
 * A map and a tree instead of one pattern after the other: the cost does not grow with the endpoints.
 */

type Found<Target> =
  | { readonly kind: 'found'; readonly target: Target; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'otherMethod'; readonly allow: readonly string[] }
  | { readonly kind: 'absent' };

interface Entry<Target> {
  readonly target: Target;
  readonly names: readonly string[];
}

interface Node<Target> {
  readonly literals: Map<string, Node<Target>>;
  parameter: Node<Target> | undefined;
  readonly methods: Map<string, Entry<Target>>;
}

export interface RouteTable<Target> {
  /** Throws when method and path are taken, or a parameter name stands twice in the path. */
  add(method: string, path: string, target: Target): void;
  /** The path as it stands in the request, still percent-encoded, without the query. */
  find(method: string, path: string): Found<Target>;
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});
const ABSENT = { kind: 'absent' } as const;

export function createRouteTable<Target>(): RouteTable<Target> {
  const root = newNode<Target>();
  // Most requests go to paths without parameters: these are found by one lookup.
  const fixed = new Map<string, Map<string, Found<Target>>>();

  return {
    add(method, path, target) {
      const names: string[] = [];
      let node = root;
      for (const segment of path.slice(1).split('/')) {
        if (segment.startsWith(':')) {
          const name = segment.slice(1);
          if (names.includes(name)) throw new Error(`The path ${path} has the parameter ${name} twice.`);
          names.push(name);
        }
        node = childOf(node, segment);
      }
      if (node.methods.has(method)) throw new Error(`${method} ${path} is mounted twice.`);
      node.methods.set(method, { target, names });
      if (names.length > 0) return;
      const byMethod = fixed.get(path) ?? new Map<string, Found<Target>>();
      fixed.set(path, byMethod.set(method, { kind: 'found', target, params: NO_PARAMS }));
    },

    find(method, path) {
      // HEAD is GET without the body, which Node leaves away by itself.
      const wanted = method === 'HEAD' ? 'GET' : method;
      return fixed.get(path)?.get(wanted) ?? search(root, wanted, path);
    },
  };
}

function newNode<Target>(): Node<Target> {
  return { literals: new Map(), parameter: undefined, methods: new Map() };
}

function childOf<Target>(node: Node<Target>, segment: string): Node<Target> {
  if (segment.startsWith(':')) {
    node.parameter ??= newNode();
    return node.parameter;
  }
  const child = node.literals.get(segment) ?? newNode<Target>();
  node.literals.set(segment, child);
  return child;
}

function search<Target>(root: Node<Target>, method: string, path: string): Found<Target> {
  const segments = path.slice(1).split('/');
  const allow = new Set<string>();
  const values: string[] = [];

  const visit = (node: Node<Target>, depth: number): Entry<Target> | undefined => {
    const segment = segments[depth];
    if (segment === undefined) {
      for (const known of node.methods.keys()) allow.add(known);
      return node.methods.get(method);
    }
    const literal = node.literals.get(segment);
    const entry = literal && visit(literal, depth + 1);
    if (entry || !node.parameter || segment === '') return entry;
    values.push(segment);
    const found = visit(node.parameter, depth + 1);
    if (!found) values.pop();
    return found;
  };

  const entry = visit(root, 0);
  if (!entry && allow.size === 0) return ABSENT;
  if (!entry) return { kind: 'otherMethod', allow: allowed(allow) };
  const params = decodeParams(entry.names, values);
  return params ? { kind: 'found', target: entry.target, params } : ABSENT;
}

/** Undefined when a value is no percent-encoded UTF-8 or holds a NUL: nothing can have such a name. */
function decodeParams(
  names: readonly string[],
  values: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const params: Record<string, string> = Object.create(null);
  try {
    for (const [index, name] of names.entries()) params[name] = decodeURIComponent(values[index] ?? '');
  } catch {
    return undefined;
  }
  return Object.values(params).some((value) => value.includes('\0')) ? undefined : params;
}

function allowed(methods: ReadonlySet<string>): readonly string[] {
  return [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}
