/** Who may import whom, as dependency-cruiser rules. Source: `docs/architecture.md`, "Who imports whom". */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IForbiddenRuleType } from 'dependency-cruiser';
import { arrowsOf, CONTEXTS, DOMAIN, DOORS, OPEN_TO_TESTS, REACTION, TEST_CODE } from './architecture.ts';

const oneOf = (names: readonly string[]) => `(${names.join('|')})`;

const installed = (name: string) => `(^|/)node_modules/${name}/`;

const cycles: IForbiddenRuleType = {
  name: 'no-cycles',
  comment:
    'Two files that import each other are one file that is hard to read. Move what both need into a file below them; types count too.',
  from: {},
  to: { circular: true },
};

const domainImports: IForbiddenRuleType = {
  name: 'pure-domain',
  comment:
    'Code that decides about money must be readable and testable alone; one import of I/O and it is neither. It may import the kernel, zod, node:assert, immutable, and its own domain/ and errors.ts: fetch the fact in the route or the reaction and put it into the command.',
  from: { path: DOMAIN, pathNot: TEST_CODE },
  to: {
    pathNot: [
      '^packages/kernel/',
      installed('(zod|immutable)'),
      '^assert(/strict)?$',
      '^$1domain/',
      '^$1errors\\.ts$',
    ],
  },
};

const contextsApart: IForbiddenRuleType = {
  name: 'contexts-apart',
  comment:
    'A context that calls another cannot be read, tested or changed alone. Take what you need as a function that the service passes in; only *.projection.ts and *.reactions.ts may import the published event types of another context, and specs may start other contexts.',
  from: { path: `^packages/${oneOf(CONTEXTS)}/`, pathNot: [REACTION, TEST_CODE] },
  to: { path: `^packages/${oneOf(CONTEXTS)}/`, pathNot: '^packages/$1/' },
};

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const ours = (dependencies: Manifest['dependencies'] = {}) =>
  Object.keys(dependencies).flatMap((name) =>
    name.startsWith('@coffer/') ? [name.slice('@coffer/'.length)] : [],
  );

/** For one workspace, such as `packages/ledger`. What is declared for its specs is only for its specs. */
function arrows(root: string, workspace: string): readonly IForbiddenRuleType[] {
  const [folder, name = ''] = workspace.split('/');
  const manifest: Manifest = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8'));
  const dependencies = ours(manifest.dependencies);
  const allowed =
    folder === 'services' ? dependencies : (arrowsOf(name) ?? []).filter((to) => dependencies.includes(to));
  const rule = (from: IForbiddenRuleType['from'], targets: readonly string[]): IForbiddenRuleType => ({
    name: 'arrows',
    comment:
      'The packages are layers: an arrow upwards makes a cycle, and soon nothing can be taken out alone. Move the shared part down, or pass a function in from the service. A new arrow goes into scripts/tidy/architecture.ts and into the dependencies in package.json.',
    from,
    to: { path: '^(packages|services)/', pathNot: `^(packages|services)/${oneOf([name, ...targets])}/` },
  });
  const inSpecs = `^${workspace}/.*(\\.(spec|contract|bench)\\.ts$|/testing(/|\\.ts$))`;
  return [
    rule({ path: `^${workspace}/`, pathNot: [TEST_CODE, REACTION] }, allowed),
    rule({ path: `^${workspace}/.*${REACTION}`, pathNot: TEST_CODE }, [
      ...allowed,
      ...CONTEXTS.filter((to) => dependencies.includes(to)),
    ]),
    rule({ path: inSpecs }, [...dependencies, ...ours(manifest.devDependencies)]),
  ];
}

const facesOnly: IForbiddenRuleType = {
  name: 'faces-only',
  comment:
    'A path into another package bypasses its public face, so nobody sees what is used. Import @coffer/<name>, whose face is src/index.ts; move what two services share into a package.',
  from: { path: '^(packages|services)/([^/]+)/' },
  to: { path: '^(packages|services)/', pathNot: '^$1/$2/', dependencyTypesNot: ['aliased-workspace'] },
};

const noProgramImported: IForbiddenRuleType = {
  name: 'no-program-imported',
  comment: 'services/coffer is wiring: move what two services share into a package.',
  from: { path: '^(packages|services)/', pathNot: '^services/coffer/' },
  to: { path: '^services/coffer/' },
};

const doors: readonly IForbiddenRuleType[] = Object.entries(DOORS).map(([name, folders]) => ({
  name: 'doors',
  comment:
    'A driver or framework that is imported everywhere cannot be replaced, guarded or upgraded in one place. Use the types and functions of @coffer/database, @coffer/http and @coffer/event-store; scripts/tidy/architecture.ts lists who may import what.',
  from: {
    pathNot: [...folders.map((folder) => `^${folder}`), ...(OPEN_TO_TESTS.includes(name) ? [TEST_CODE] : [])],
  },
  to: { path: installed(name) },
}));

const MEMORY = '^packages/(event-store|solana)/src/memory/';

const testTools: IForbiddenRuleType = {
  name: 'testing-tools-in-tests',
  comment:
    'What a service imports, it ships: a memory store or a test world must never be reachable in production. Import them only in *.spec.ts, *.contract.ts, *.bench.ts, scripts/, packages/testing or the src/testing of a package.',
  from: { pathNot: [TEST_CODE, MEMORY] },
  to: { path: [TEST_CODE, MEMORY, installed('(chai|mocha|fast-check)')] },
};

const declared: IForbiddenRuleType = {
  name: 'declared',
  comment:
    'An undeclared import works only while another package happens to install it. Add it to the dependencies in that package.json; devDependencies are for test code.',
  from: { pathNot: TEST_CODE },
  to: {
    dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
    dependencyTypesNot: ['npm'],
  },
};

/** `workspaces` are the folders of all packages and services below the root. */
export const importRules = (root: string, workspaces: readonly string[]): readonly IForbiddenRuleType[] => [
  cycles,
  domainImports,
  contextsApart,
  ...workspaces.flatMap((workspace) => arrows(root, workspace)),
  facesOnly,
  noProgramImported,
  ...doors,
  testTools,
  declared,
];
