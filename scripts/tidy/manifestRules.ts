/** What the manifests and the lockfile must say. */
import { eachFile, file, lineAt, matches, type Rule, type SourceFile } from './rule.ts';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function manifestOf(source: SourceFile | undefined): Manifest {
  const parsed: Partial<Manifest> = source ? JSON.parse(source.text) : {};
  return {
    dependencies: parsed.dependencies ?? {},
    devDependencies: parsed.devDependencies ?? {},
  };
}

const isManifest = (path: string) => /^(?:(?:packages|services)\/[^/]+\/)?package\.json$/.test(path);

const lineOf = (source: SourceFile, text: string) => lineAt(source.text, source.text.indexOf(text));

const manifest = (name: string, dependencies: Record<string, string> = {}) =>
  JSON.stringify({ name, dependencies }, null, 2);

/** Under its own name or an alias: `npm:typescript@7.0.2`. */
const EXACT_VERSION = /^(?:npm:(?:@[\w-]+\/)?[\w-]+@)?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

const exactVersions: Rule = {
  title: 'pins every version exactly',
  why: 'with a range, the same commit is a different program tomorrow.',
  instead: 'write the installed version, as npm install --save-exact does.',
  find: eachFile(isManifest, (source) => {
    const { dependencies, devDependencies } = manifestOf(source);
    return Object.entries({ ...dependencies, ...devDependencies })
      .filter(([, version]) => !EXACT_VERSION.test(version))
      .map(([name, version]) => ({
        path: source.path,
        line: lineOf(source, `"${name}"`),
        found: `${name} is ${version}`,
      }));
  }),
  refuses: [
    [file('packages/http/package.json', manifest('@coffer/http', { express: '^5.3.0' }))],
    [file('package.json', manifest('coffer-workspace', { node: '*' }))],
    [file('package.json', manifest('coffer-workspace', { typescript: 'npm:@typescript/typescript6@6' }))],
  ],
  accepts: ['18.4.0-beta.17', 'npm:@typescript/typescript6@6.0.2'].map((version) => [
    file('package.json', manifest('a', { a: version })),
  ]),
};

const oneLockfile: Rule = {
  title: 'keeps one lockfile that names no host',
  why: 'two lockfiles will disagree one day, and a host in one ties every install to one network.',
  instead:
    'keep only the package-lock.json of the root, written with omit-lockfile-registry-resolved, so that the integrity hashes decide and each machine uses its own registry.',
  find: (files) => [
    ...files
      .filter(({ path }) =>
        /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml)$/.test(path),
      )
      .filter(({ path }) => path !== 'package-lock.json')
      .map(({ path }) => ({ path, line: 1, found: 'is a second lockfile' })),
    ...files
      .filter(({ path }) => path === 'package-lock.json')
      .flatMap(({ path, text }) => matches(path, text, /"resolved": "[^"]*:\/\/[^"]*"/g)),
  ],
  refuses: [
    [file('packages/http/package-lock.json', '{}')],
    [file('package-lock.json', '"resolved": "https://packages.example/zod.tgz"')],
  ],
  accepts: [[file('package-lock.json', '"resolved": "packages/http", "link": true')]],
};

/**
 * Whether some alternative of a Node version range, such as `^18.12 || >=20`, begins at 20 or includes it.
 */
const takesNode20 = (range: string): boolean =>
  range.split('||').some((alternative) => {
    const [, operator = '', major = '0'] = /^\s*([<>=^~]*)\s*v?(\d+)/.exec(alternative) ?? [];
    return operator.startsWith('>') ? Number(major) <= 20 : Number(major) === 20 || major === '0';
  });

const installsOnNode20: Rule = {
  title: 'locks only packages that install on Node 20',
  why: 'npm may run on Node 20, and warns about each package that needs a newer one: the first command of a newcomer prints screens of warnings.',
  instead:
    'use a version of the package that supports Node 20, through "overrides" in the root manifest if others require it.',
  find: eachFile(
    (path) => path === 'package-lock.json',
    ({ path, text }) =>
      [...text.matchAll(/"engines": \{\n {8}"node": "([^"]*)"/g)]
        .filter(([, range = '']) => !takesNode20(range))
        .map(({ 0: found, index }) => ({
          path,
          line: lineAt(text, index),
          found: found.replace(/\s+/g, ' '),
        })),
  ),
  refuses: ['>=22.12.0', '^18.0.0 || >=22', '22'].map((range) => [
    file('package-lock.json', `      "engines": {\n        "node": "${range}"\n      }\n`),
  ]),
  accepts: ['>=18', '^20.19.0 || >=22.12.0', '18 || 20 || >=22', '*', '> 0.1.90'].map((range) => [
    file('package-lock.json', `      "engines": {\n        "node": "${range}"\n      }\n`),
  ]),
};

export const manifestRules: readonly Rule[] = [exactVersions, oneLockfile, installsOnNode20];
