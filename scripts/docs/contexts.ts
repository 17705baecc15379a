/** What the packages publish about errors and events, found by file names. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

export const ROOT = join(import.meta.dirname, '..', '..');

const catalogue = z.record(
  z.templateLiteral([z.string(), '/', z.string()]),
  z.strictObject({ status: z.int(), message: z.string() }),
);
export type Catalogue = z.infer<typeof catalogue>;

const codec = z.object({ types: z.array(z.string()), encode: z.function(), decode: z.function() });

const fixture = z.object({
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
  metadata: z.object({ v: z.int() }).default({ v: 1 }),
});
export type EventFixture = z.infer<typeof fixture>;

async function exportsOf(pattern: string): Promise<readonly { path: string; value: unknown }[]> {
  const found: { path: string; value: unknown }[] = [];
  for (const path of globSync(pattern, { cwd: ROOT }).sort()) {
    const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(join(ROOT, path)).href);
    for (const value of Object.values(module)) found.push({ path, value });
  }
  return found;
}

/** The error catalogues: the tables exported by every `errors.ts`. */
export async function errorCatalogues(): Promise<readonly Catalogue[]> {
  return (await exportsOf('packages/*/src/**/errors.ts'))
    .filter(({ value }) => typeof value === 'object' && value !== null)
    .map(({ value }) => catalogue.parse(value));
}

/** The types of stored events by stream category: those of `playSession.events.ts` are `playSession`'s. */
export async function eventTypesByCategory(): Promise<ReadonlyMap<string, readonly string[]>> {
  const byCategory = new Map<string, readonly string[]>();
  for (const { path, value } of await exportsOf('packages/*/src/{,*/}domain/*.events.ts')) {
    const read = codec.safeParse(value);
    const category = /([^/]+)\.events\.ts$/.exec(path)?.[1];
    if (read.success && category) byCategory.set(category, read.data.types);
  }
  return byCategory;
}

/** One stored event per version ever written, from the fixtures beside the events. */
export function eventFixtures(): readonly EventFixture[] {
  return globSync('packages/*/src/{,*/}domain/**/*.json', { cwd: ROOT })
    .map((path) => fixture.safeParse(JSON.parse(readFileSync(join(ROOT, path), 'utf8'))))
    .flatMap((read) => (read.success ? [read.data] : []));
}
