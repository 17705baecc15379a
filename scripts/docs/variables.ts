/** The environment variables that the service knows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './contexts.ts';

/** Their names, in the order of `services/coffer/src/config.ts`. */
export function configuredVariables(): readonly string[] {
  const config = readFileSync(join(ROOT, 'services/coffer/src/config.ts'), 'utf8');
  return [...config.matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].flatMap(([, name]) => name ?? []);
}
