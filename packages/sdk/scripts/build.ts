/**
 * Writes the folder that is published: ESM, types, manifest, README. The workspace runs from the sources, so
 * the manifest here points at them, and the one in the folder at the compiled files.
 *
 *   node scripts/build.ts [folder]      default: dist
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist'));
const { resolve: find } = createRequire(import.meta.url);

rmSync(folder, { recursive: true, force: true });
const compiler = join(dirname(find('@typescript/native/package.json')), 'bin/tsc');
execFileSync(process.execPath, [compiler, '--project', join(root, 'tsconfig.json'), '--outDir', folder], {
  stdio: 'inherit',
});

const { name, version, description, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const published = {
  name,
  version,
  description,
  type,
  license: 'UNLICENSED',
  engines: { node: '>=20.3' },
  sideEffects: false,
  exports: { '.': { types: './index.d.ts', default: './index.js' } },
};
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
copyFileSync(join(root, 'README.md'), join(folder, 'README.md'));
