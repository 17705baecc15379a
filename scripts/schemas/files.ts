/** The schemas in docs/schemas: what the code says they are, and what they are. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EventSchema, eventSchemas } from '@coffer/kafka';
import { CONTEXTS } from '../../services/coffer/src/contexts.ts';
import { ROOT } from '../docs/contexts.ts';
import { incompatible } from './incompatible.ts';

export const SCHEMAS = join(ROOT, 'docs', 'schemas');
const INDEX = 'index.json';

/** The text of each file, by its path below docs/schemas. */
type Files = ReadonlyMap<string, string>;

export const schemasInCode = (): readonly EventSchema[] => eventSchemas(CONTEXTS.facts.streams);

export const pathOf = ({ category, type, version }: EventSchema): string =>
  `${category}/${type}.v${version}.json`;

export function filesInCode(): Files {
  const schemas = schemasInCode();
  const index = schemas.map((one) => ({
    category: one.category,
    type: one.type,
    version: one.version,
    id: one.schema.$id,
    file: pathOf(one),
  }));
  return new Map([
    [INDEX, textOf({ schemas: index })],
    ...schemas.map((one) => [pathOf(one), textOf(one.schema)] as const),
  ]);
}

export const committedFiles = (): Files =>
  new Map(
    globSync('**/*.json', { cwd: SCHEMAS })
      .sort()
      .map((path) => [path, readFileSync(join(SCHEMAS, path), 'utf8')]),
  );

/** Each change of a committed schema that needs a new version of its event instead, with the file that it is in. */
export function* brokenBy(code: Files, committed: Files): Iterable<string> {
  for (const [path, text] of committed) {
    if (path === INDEX) continue;
    const now = code.get(path);
    if (now === undefined) yield `${path}: the code no longer has this event or version`;
    else for (const change of incompatible(JSON.parse(text), JSON.parse(now))) yield `${path}: ${change}`;
  }
}

const textOf = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
