/**
 * What may change within a version of an event: an object may gain an optional property, and annotations may change. Any
 * other change breaks a reader: either ours, of events that are on disk, or one that has the former schema, of events to
 * come. A looser schema (a new value of an enum, a required property that becomes optional) breaks the second, so it needs
 * a new version as well.
 */
type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS = ['title', 'description', 'examples', 'example', 'default', 'deprecated', '$comment'];
/** Compared by what they contain. */
const PARTS = ['properties', 'required'];
/** Keywords whose value is a schema, or a list of schemas. */
const NESTED = [
  'items',
  'additionalProperties',
  'propertyNames',
  'anyOf',
  'oneOf',
  'allOf',
  'prefixItems',
  'not',
];
/** Lists in which the order means nothing. */
const SETS = ['enum', 'type'];

/** Everything in which `after` is not compatible with `before`, one sentence each, named by its place. */
export function* incompatible(before: Schema, after: Schema, place = 'data'): Iterable<string> {
  yield* propertyChanges(before, after, place);
  for (const keyword of keywordsOf(before, after)) {
    const [was, is] = [before[keyword], after[keyword]];
    if (NESTED.includes(keyword)) yield* nestedChanges(was, is, `${place} ${keyword}`);
    else if (textOf(keyword, was) !== textOf(keyword, is))
      yield `${place}: ${keyword} was ${textOf(keyword, was)} and is ${textOf(keyword, is)}`;
  }
}

function* propertyChanges(before: Schema, after: Schema, place: string): Iterable<string> {
  const [was, is] = [propertiesOf(before), propertiesOf(after)];
  const [wasRequired, isRequired] = [requiredOf(before), requiredOf(after)];
  for (const [name, schema] of was) {
    const now = is.get(name);
    const property = `${place}.${name}`;
    if (!now) yield `${property} is gone`;
    else yield* incompatible(schema, now, property);
  }
  for (const name of is.keys()) {
    if (was.has(name)) continue;
    if (before.additionalProperties === false) yield `${place}.${name} is new, where nothing may be added`;
  }
  for (const name of new Set([...wasRequired, ...isRequired])) {
    const property = `${place}.${name}`;
    if (!is.has(name) && was.has(name)) continue;
    if (!wasRequired.has(name)) yield `${property} is required now`;
    if (!isRequired.has(name)) yield `${property} is no longer required`;
  }
}

function* nestedChanges(was: unknown, is: unknown, place: string): Iterable<string> {
  if (Array.isArray(was) && Array.isArray(is) && was.length === is.length) {
    for (const [index, schema] of was.entries())
      yield* nestedChanges(schema, is[index], `${place}[${index}]`);
  } else if (isSchema(was) && isSchema(is)) yield* incompatible(was, is, place);
  else if (JSON.stringify(was) !== JSON.stringify(is))
    yield `${place} was ${JSON.stringify(was)} and is ${JSON.stringify(is)}`;
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const keywordsOf = (...schemas: readonly Schema[]): readonly string[] =>
  [...new Set(schemas.flatMap((schema) => Object.keys(schema)))].filter(
    (keyword) => !ANNOTATIONS.includes(keyword) && !PARTS.includes(keyword),
  );

const propertiesOf = ({ properties }: Schema): ReadonlyMap<string, Schema> =>
  new Map(
    Object.entries(isSchema(properties) ? properties : {}).map(([name, schema]) => [
      name,
      isSchema(schema) ? schema : { boolean: schema },
    ]),
  );

const requiredOf = ({ required }: Schema): ReadonlySet<string> =>
  new Set(Array.isArray(required) ? required.map(String) : []);

const textOf = (keyword: string, value: unknown): string =>
  JSON.stringify(SETS.includes(keyword) && Array.isArray(value) ? value.toSorted() : value) ?? 'absent';
