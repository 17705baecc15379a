import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How `npm start` starts the program of a checkout; this one unless given. */
export function startScript(root = join(import.meta.dirname, '../../..')): {
  /** Node's. */
  readonly flags: readonly string[];
  /** The program's file. */
  readonly program: string;
} {
  const manifest: { readonly scripts: { readonly start: string } } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const words = manifest.scripts.start.split(' ').slice(1);
  return {
    flags: words.filter((word) => word.startsWith('--')),
    program: join(root, words.find((word) => !word.startsWith('-')) ?? ''),
  };
}
