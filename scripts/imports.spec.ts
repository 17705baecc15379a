/** Who imports whom, without cycles: dependency-cruiser checks the rules in `scripts/tidy/importRules.ts`. */
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { cruise, type IViolation } from 'dependency-cruiser';
import { importRules } from './tidy/importRules.ts';

const root = dirname(import.meta.dirname);

async function violationsIn(baseDir: string, folders: string[]): Promise<readonly IViolation[]> {
  const workspaces = globSync('{packages,services}/*/package.json', { cwd: baseDir }).map(dirname);
  const { output } = await cruise(
    folders,
    {
      baseDir,
      ruleSet: {
        forbidden: importRules(baseDir, workspaces).map((rule) => ({ severity: 'error', ...rule })),
      },
      validate: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '(^|/)(dist|\\.data)/' },
      // TypeScript's parser, including type-only imports.
      parser: 'tsc',
      tsPreCompilationDeps: true,
      // Specs use the testing tools of the root.
      combinedDependencies: true,
    },
    { exportsFields: ['exports'], conditionNames: ['node', 'import'] },
  );
  if (typeof output === 'string') throw new Error(output);
  return output.summary.violations;
}

function explain(violations: readonly IViolation[]): string {
  const comments = new Map(importRules(root, []).map(({ name, comment }) => [name, comment]));
  return [
    ...violations.map(
      ({ rule, from, to, cycle }) =>
        `  ${rule.name}: ${[from, ...(cycle?.map(({ name }) => name) ?? [to])].join(' -> ')}`,
    ),
    ...new Set(violations.map(({ rule }) => `${rule.name}: ${comments.get(rule.name)}`)),
  ].join('\n');
}

describe('imports', () => {
  it('go only where the architecture allows, and form no cycle', async () => {
    const violations = await violationsIn(root, ['packages', 'services', 'scripts', 'docs/examples']);
    if (violations.length > 0) expect.fail(`\n${explain(violations)}`);
  });
});

/**
 * A repository in which each file imports one thing: the rules that it breaks, its path, and what it imports.
 */
const SAMPLES: readonly (readonly [broken: readonly string[], path: string, imported: string])[] = [
  // A cycle is reported once.
  [['no-cycles'], 'packages/kernel/src/egg.ts', './hen.ts'],
  [[], 'packages/kernel/src/hen.ts', './egg.ts'],

  [['pure-domain'], 'packages/ledger/src/domain/reads.ts', 'node:fs/promises'],
  [['pure-domain'], 'packages/ledger/src/domain/queries.ts', '@coffer/database'],
  [['pure-domain'], 'packages/ledger/src/domain/routes.ts', '../routes.ts'],
  [
    ['pure-domain', 'faces-only', 'arrows'],
    'packages/ledger/src/domain/users.ts',
    '../../../users/src/index.ts',
  ],
  [['pure-domain'], 'packages/auth/src/identities/domain/identity.ts', '../../clock.ts'],
  [[], 'packages/auth/src/identities/domain/refuses.ts', '../errors.ts'],
  [[], 'packages/ledger/src/domain/asserts.ts', 'node:assert/strict'],
  [[], 'packages/ledger/src/domain/counts.ts', '@coffer/kernel'],
  [[], 'packages/ledger/src/domain/keeps.ts', 'immutable'],
  [[], 'packages/ledger/src/domain/refuses.ts', '../errors.ts'],
  [[], 'packages/ledger/src/domain/part.ts', './asserts.ts'],
  [[], 'packages/ledger/src/domain/part.spec.ts', 'chai'],

  [['contexts-apart', 'arrows'], 'packages/ledger/src/deposits.ts', '@coffer/treasury'],
  [[], 'packages/ledger/src/deposits.spec.ts', '@coffer/treasury'],
  [[], 'packages/ledger/src/deposits.reactions.ts', '@coffer/treasury'],

  [['arrows'], 'packages/kernel/src/upwards.ts', '@coffer/database'],
  [['arrows'], 'packages/brandnew/src/unlisted.ts', '@coffer/kernel'],
  // Both may import it; the manifest of the second does not declare it.
  [[], 'packages/ledger/src/rows.ts', '@coffer/database'],
  [['arrows'], 'packages/auth/src/rows.ts', '@coffer/database'],
  [[], 'packages/ledger/src/given.spec.ts', '@coffer/testing'],
  [['arrows'], 'packages/kernel/src/given.spec.ts', '@coffer/testing'],

  [['faces-only'], 'services/coffer/src/inside.ts', '../../../packages/kernel/src/hen.ts'],
  [
    ['no-program-imported', 'faces-only', 'arrows'],
    'packages/ledger/src/program.ts',
    '../../../services/coffer/src/inside.ts',
  ],

  [['doors'], 'packages/ledger/src/sql.ts', 'pg'],
  [['doors'], 'packages/ledger/src/sql.spec.ts', 'pg'],
  [[], 'packages/database/src/sql.ts', 'pg'],
  [['doors'], 'packages/ledger/src/keys.ts', '@solana/web3.js'],
  [[], 'packages/ledger/src/keys.spec.ts', '@solana/web3.js'],

  [['testing-tools-in-tests', 'declared'], 'packages/ledger/src/expects.ts', 'chai'],
  [['testing-tools-in-tests'], 'packages/ledger/src/remembers.ts', '@coffer/event-store/memory'],
  [['testing-tools-in-tests'], 'packages/ledger/src/tells.ts', './testing/story.ts'],
  [['testing-tools-in-tests', 'arrows'], 'packages/ledger/src/given.ts', '@coffer/testing'],
  [[], 'packages/ledger/src/testing/story.ts', '@coffer/event-store/memory'],

  [['declared'], 'packages/ledger/src/undeclared.ts', 'unheard-of'],
  [['declared'], 'packages/ledger/src/forTests.ts', 'yaml'],
];

const versionsOf = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));

/** What the samples import; a package has a face, and nothing but the samples. */
const WORKSPACES: Readonly<Record<string, object>> = {
  'packages/auth': {},
  'packages/brandnew': { dependencies: versionsOf('@coffer/kernel') },
  'packages/database': { dependencies: versionsOf('pg') },
  'packages/event-store': {},
  'packages/kernel': { dependencies: versionsOf('@coffer/database') },
  'packages/ledger': {
    dependencies: {
      ...versionsOf('@coffer/database', '@coffer/event-store', '@coffer/kernel', '@coffer/treasury'),
      ...versionsOf('@solana/web3.js', 'immutable', 'pg'),
    },
    devDependencies: versionsOf('@coffer/testing'),
  },
  'packages/testing': {},
  'packages/treasury': {},
  'packages/users': {},
  'services/coffer': { dependencies: versionsOf('@coffer/kernel') },
};
const INSTALLED = ['@solana/web3.js', 'chai', 'immutable', 'pg', 'unheard-of', 'yaml'];

async function writeSamples(folder: string): Promise<void> {
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await write(
    'package.json',
    JSON.stringify({ workspaces: ['packages/*'], devDependencies: versionsOf('chai', 'yaml') }),
  );
  await mkdir(join(folder, 'node_modules/@coffer'), { recursive: true });
  for (const [path, dependencies] of Object.entries(WORKSPACES)) {
    const name = `@coffer/${path.split('/')[1]}`;
    const exports = { '.': './src/index.ts', './memory': './src/memory/index.ts' };
    await write(`${path}/package.json`, JSON.stringify({ name, type: 'module', exports, ...dependencies }));
    await symlink(join(folder, path), join(folder, 'node_modules', name));
  }
  for (const name of INSTALLED) {
    await write(
      `node_modules/${name}/package.json`,
      JSON.stringify({ name, version: '1.0.0', main: 'index.js' }),
    );
    await write(`node_modules/${name}/index.js`, '');
  }
  const faces = Object.keys(WORKSPACES).map((path) => `${path}/src/index.ts`);
  for (const path of [
    ...faces,
    'packages/auth/src/clock.ts',
    'packages/auth/src/identities/errors.ts',
    'packages/event-store/src/memory/index.ts',
    'packages/ledger/src/errors.ts',
    'packages/ledger/src/routes.ts',
  ])
    await write(path, 'export {};\n');
  // Alternately a value and a type, which count the same.
  for (const [index, [, path, imported]] of SAMPLES.entries())
    await write(path, `import ${index % 2 ? 'type ' : ''}* as it from '${imported}';\nexport { it };\n`);
}

describe('the rules about imports', () => {
  it('see what breaks them, and nothing else', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'coffer-imports-')));
    try {
      await writeSamples(folder);
      const violations = await violationsIn(folder, ['packages', 'services']);
      const byFile = Map.groupBy(violations, ({ from }) => from);
      const told = (path: string, broken: readonly string[]) => `${path}: ${[...broken].sort().join(', ')}`;
      expect(
        SAMPLES.map(([, path]) => told(path, byFile.get(path)?.map(({ rule }) => rule.name) ?? [])),
      ).to.deep.equal(SAMPLES.map(([broken, path]) => told(path, broken)));
      expect(new Set(SAMPLES.flatMap(([broken]) => broken))).to.deep.equal(
        new Set(importRules(folder, ['packages/kernel']).map(({ name }) => name)),
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
