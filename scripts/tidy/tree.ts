/** The repository's own text files, read once. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { SourceFile } from './rule.ts';

const FOLDERS_NOT_OURS = new Set(['node_modules', '.git', '.data', 'coverage', 'dist']);
const TEXT =
  /\.(?:ts|mts|mjs|js|json|sql|md|sh|yml|yaml)$|(?:^|\/)(?:\.npmrc|\.gitignore|\.env\.example|run|yarn\.lock)$/;

function* pathsBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!FOLDERS_NOT_OURS.has(entry.name)) yield* pathsBelow(path);
    } else if (entry.isFile()) yield path;
  }
}

/** Every text file below the root, paths relative to it with forward slashes. */
export function readTree(root: string): readonly SourceFile[] {
  return [...pathsBelow(root)]
    .map((path) => relative(root, path).split(sep).join('/'))
    .filter((path) => TEXT.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}
