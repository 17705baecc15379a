/** Who may import whom. Source: `docs/architecture.md`, "Who imports whom". */
import { posix } from 'node:path';
import {
  arrowsOf,
  CONTEXTS,
  DOORS,
  isDomain,
  isReaction,
  isSource,
  isTestCode,
  OPEN_TO_TESTS,
  packageOf,
  workspaceOf,
} from './architecture.ts';
import { eachFile, type Finding, file, type Rule, type SourceFile } from './rule.ts';
import { type Import, importsOf, packageNameOf } from './sourceText.ts';

/** A rule about one import at a time. */
function eachImport(
  applies: (path: string) => boolean,
  isForbidden: (path: string, specifier: string) => boolean,
): Rule['find'] {
  const finding = (path: string, { specifier, line }: Import): Finding => ({
    path,
    line,
    found: `imports ${specifier}`,
  });
  return eachFile(applies, (source: SourceFile) =>
    importsOf(source)
      .filter(({ specifier }) => isForbidden(source.path, specifier))
      .map((found) => finding(source.path, found)),
  );
}

const resolve = (path: string, specifier: string) => posix.join(posix.dirname(path), specifier);

const cofferPackageOf = (specifier: string) => /^@coffer\/([^/]+)/.exec(specifier)?.[1];

const DOMAIN_LIBRARIES = ['@coffer/kernel', 'zod', 'node:assert', 'node:assert/strict', 'immutable'];

const domainImports: Rule = {
  title: 'keeps domain code to the kernel, zod, node:assert, immutable and its own files',
  why: 'what decides about money must be readable and testable alone; one import of I/O and it is neither.',
  instead:
    'fetch the fact in the route or the process and put it into the command; from the own package only domain/ and errors.ts are imported.',
  find: eachImport(isDomain, (path, specifier) => {
    if (!specifier.startsWith('.')) return !DOMAIN_LIBRARIES.includes(specifier);
    const target = resolve(path, specifier);
    const part = path.slice(0, path.indexOf('/domain/') + 1);
    return !target.startsWith(`${part}domain/`) && target !== `${part}errors.ts`;
  }),
  refuses: [
    [file('packages/ledger/src/domain/playSession.ts', "import { readFile } from 'node:fs/promises';\n")],
    [file('packages/ledger/src/domain/playSession.ts', "import { Pool } from '@coffer/database';\n")],
    [file('packages/ledger/src/domain/playSession.ts', "import { routes } from '../routes.ts';\n")],
    [
      file(
        'packages/ledger/src/domain/playSession.ts',
        "export * from '../../../users/src/domain/user.ts';\n",
      ),
    ],
    [file('packages/auth/src/identities/domain/identity.ts', "import { clock } from '../../clock.ts';\n")],
  ],
  accepts: [
    [
      file(
        'packages/ledger/src/domain/playSession.ts',
        "import assert from 'node:assert/strict';\nimport {\n  amount,\n} from '@coffer/kernel';\nimport { Map } from 'immutable';\nimport { reject } from '../errors.ts';\nimport type { Opened } from './playSession.events.ts';\n",
      ),
    ],
    [file('packages/ledger/src/domain/playSession.spec.ts', "import { expect } from 'chai';\n")],
    [file('packages/auth/src/identities/domain/identity.ts', "import { reject } from '../errors.ts';\n")],
  ],
};

const contextsApart: Rule = {
  title: 'keeps contexts out of each other',
  why: 'a context that calls another cannot be read, tested or changed alone.',
  instead:
    'take what you need as a function argument that a service passes in; only *.projection.ts and *.reactions.ts may import the published event types of another context.',
  find: eachImport(
    (path) => isSource(path) && CONTEXTS.includes(packageOf(path) ?? '') && !isReaction(path),
    (path, specifier) => {
      const imported = cofferPackageOf(specifier);
      return imported !== undefined && imported !== packageOf(path) && CONTEXTS.includes(imported);
    },
  ),
  refuses: [
    [file('packages/ledger/src/routes.ts', "import { deposit } from '@coffer/treasury';\n")],
    [file('packages/wallets/src/index.ts', "export type { Moves } from '@coffer/treasury';\n")],
  ],
  accepts: [
    [
      file(
        'packages/custody/src/pools.reactions.ts',
        "import { playSessionEvents } from '@coffer/ledger';\n",
      ),
    ],
    [file('packages/ledger/src/routes.ts', "import { holdOpenedBy } from '@coffer/accounts';\n")],
  ],
};

const arrows: Rule = {
  title: 'follows the arrows between packages',
  why: 'the packages are layers: an arrow upwards makes a cycle, and soon nothing can be taken out alone.',
  instead:
    'move the shared part down, or pass a function in from the service; a new package is listed in scripts/tidy/architecture.ts with its arrows.',
  find: eachImport(
    (path) => isSource(path) && packageOf(path) !== undefined && !isTestCode(path),
    (path, specifier) => {
      const imported = cofferPackageOf(specifier);
      const name = packageOf(path) ?? '';
      if (imported === undefined || imported === name) return false;
      if (CONTEXTS.includes(imported) && isReaction(path)) return false;
      return !arrowsOf(name)?.includes(imported);
    },
  ),
  refuses: [
    [file('packages/kernel/src/amounts.ts', "import { Pool } from '@coffer/database';\n")],
    [file('packages/http/src/app.ts', "import type { EventStore } from '@coffer/event-store';\n")],
    [file('packages/brandnew/src/index.ts', "export * from '@coffer/kernel';\n")],
  ],
  accepts: [
    [file('packages/consumers/src/runner.ts', "import { withTransaction } from '@coffer/database';\n")],
    [file('packages/event-store/src/memory/store.spec.ts', "import { given } from '@coffer/testing';\n")],
  ],
};

const noServiceImported: Rule = {
  title: 'lets nothing import a service or reach into another package by path',
  why: 'services are wiring; and a path into another package goes past its public face, so nobody sees what is used.',
  instead: 'import @coffer/<name>, whose face is src/index.ts; move what two services share into a package.',
  find: eachImport(
    (path) => isSource(path) && workspaceOf(path) !== undefined,
    (path, specifier) => {
      if (specifier === 'coffer' || specifier.startsWith('coffer/')) return true;
      return specifier.startsWith('.') && !resolve(path, specifier).startsWith(`${workspaceOf(path)}/`);
    },
  ),
  refuses: [
    [file('packages/http/src/app.ts', "import { config } from 'coffer/config';\n")],
    [file('packages/http/src/app.ts', "import { config } from '../../../services/coffer/src/config.ts';\n")],
    [file('services/coffer/src/run.ts', "import { pool } from '../../../packages/database/src/pool.ts';\n")],
  ],
  accepts: [[file('services/coffer/src/run.ts', "import { createPool } from '@coffer/database';\n")]],
};

const doors: Rule = {
  title: 'keeps each client behind its door',
  why: 'a driver or framework that is imported everywhere can never be replaced, guarded or upgraded in one place.',
  instead:
    'use the types and functions of @coffer/database, @coffer/http and @coffer/event-store; the doors are listed in scripts/tidy/architecture.ts.',
  find: eachImport(isSource, (path, specifier) => {
    const name = packageNameOf(specifier) ?? '';
    if (OPEN_TO_TESTS.includes(name) && isTestCode(path)) return false;
    const door = DOORS[name];
    return door !== undefined && !door.some((folder) => path.startsWith(folder));
  }),
  refuses: [
    [file('packages/ledger/src/sessions.projection.ts', "import pg from 'pg';\n")],
    [file('packages/event-store/src/port.ts', "import type { Pool } from 'pg';\n")],
    [file('services/coffer/src/run.ts', "import express from 'express';\n")],
    [file('packages/wallets/src/signer.ts', "import { Keypair } from '@solana/web3.js';\n")],
    [file('packages/ledger/src/a.spec.ts', "import pg from 'pg';\n")],
  ],
  accepts: [
    [file('packages/event-store/src/postgres/store.ts', "import pg from 'pg';\n")],
    [file('packages/http/src/app.ts', "import express from 'express';\n")],
    [file('packages/wallets/src/signer.spec.ts', "import { Keypair } from '@solana/web3.js';\n")],
  ],
};

const TEST_ONLY =
  /^(@coffer\/testing|@coffer\/[a-z-]+\/(contract|memory|testing)|chai|mocha|fast-check)(\/|$)/;

const testToolsInTests: Rule = {
  title: 'uses testing tools in tests only',
  why: 'what a service imports, it ships: a memory store or a test world must never be reachable in production.',
  instead:
    'import them from *.spec.ts, *.contract.ts, *.bench.ts, scripts/, packages/testing or the src/testing of a package.',
  find: eachImport(
    (path) => isSource(path) && !isTestCode(path),
    (path, specifier) =>
      TEST_ONLY.test(specifier) || (specifier.startsWith('.') && isTestCode(resolve(path, specifier))),
  ),
  refuses: [
    [file('services/coffer/src/run.ts', "import { memoryEventStore } from '@coffer/event-store/memory';\n")],
    [file('packages/users/src/index.ts', "export { given } from '@coffer/testing';\n")],
    [file('services/coffer/src/service.ts', "import { seedOf } from '@coffer/wallets/testing';\n")],
    [file('packages/ledger/src/routes.ts', "import { explain } from './testing/history.ts';\n")],
  ],
  accepts: [[file('packages/users/src/domain/user.spec.ts', "import { given } from '@coffer/testing';\n")]],
};

export const importRules: readonly Rule[] = [
  domainImports,
  contextsApart,
  arrows,
  noServiceImported,
  doors,
  testToolsInTests,
];
