/**
 * The lists in docs/ match the code in both directions: a row without code is as wrong as code without a row.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BOOK_ACCOUNTS, READ_TABLES } from '@coffer/read-models';
import { expect } from 'chai';
import { settings } from '../packages/portal/src/settings.ts';
import { buildProgram } from '../services/coffer/src/cli/program.ts';
import { errorCatalogues, eventFixtures, eventTypesByCategory, ROOT } from './docs/contexts.ts';
import {
  commandNames,
  deadCommand,
  deadCommands,
  deadNames,
  deadPaths,
  deadVariables,
  documentsOf,
  listedCommands,
} from './docs/names.ts';
import { errorRows, readErrorTable, readEventTables, withErrorTable } from './docs/tables.ts';
import { configuredVariables } from './docs/variables.ts';
import { file, type SourceFile } from './tidy/rule.ts';
import { readTree } from './tidy/tree.ts';

const program = buildProgram(
  { variables: {}, workingFolder: ROOT, stdout: process.stdout, stderr: process.stderr },
  async () => undefined,
);

const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');

describe('docs/errors.md', () => {
  it('lists every error in the code, and no other, with its status and message', async () => {
    expect(
      readErrorTable(page('errors.md')),
      'Run: node scripts/writeErrorDocs.ts (and read the difference before you commit it).',
    ).to.deep.equal(errorRows(await errorCatalogues()));
  });

  it('names each code once, in the form <area>/<reason>', async () => {
    const codes = errorRows(await errorCatalogues()).map(({ code }) => code);
    expect(new Set(codes).size, 'a code is in two catalogues').to.equal(codes.length);
    for (const code of codes) expect(code).to.match(/^[a-z]+(?:_[a-z]+)*\/[a-z]+(?:_[a-z]+)*$/);
  });

  it('says what is wrong in full sentences', async () => {
    for (const { code, message } of errorRows(await errorCatalogues())) {
      expect(message, code).to.match(/^[A-Z].*\.$/);
    }
  });

  it('is read as it is written', () => {
    const rows = [
      { code: 'a/b', status: 409, message: 'This | that.' },
      { code: 'a/c', status: 404, message: 'Nothing.' },
    ];
    const written = withErrorTable('# Errors\n\n| code | status | message |\n|---|---|---|\n| old |\n', rows);
    expect(readErrorTable(written)).to.deep.equal(rows);
    expect(written)
      .to.match(/^# Errors\n\n/)
      .and.not.to.include('old');
  });
});

describe('docs/events.md', () => {
  const documented = readEventTables(page('events.md'));

  it('lists every event type of every stream, and no other', async () => {
    const inCode = [...(await eventTypesByCategory())].flatMap(([category, types]) =>
      types.map((type) => `${category} ${type}`),
    );
    expect(documented.map(({ category, type }) => `${category} ${type}`)).to.have.members(inCode);
  });

  it('has a fixture of every event type, as it is on disk', () => {
    const fixtures = new Set(eventFixtures().map(({ type }) => type));
    const missing = documented.map(({ type }) => type).filter((type) => !fixtures.has(type));
    expect(missing, 'Add src/domain/fixtures/<Event>.v1.json to the package.').to.deep.equal([]);
  });

  it('names the fields that are on disk, and no others', () => {
    const fixtures = eventFixtures();
    for (const { type, required, optional } of documented) {
      const versions = fixtures.filter((fixture) => fixture.type === type);
      if (versions.length === 0) continue;
      // The page has today's shape; older ones live on in the upcasts.
      const newest = Math.max(...versions.map(({ metadata }) => metadata.v));
      const stored = versions
        .filter(({ metadata }) => metadata.v === newest)
        .map(({ data }) => Object.keys(data));
      expect([...required, ...optional], `the fields of ${type}`).to.include.members(stored.flat());
      expect(stored.flat(), `fields that no fixture of ${type} has`).to.include.members([
        ...required,
        ...optional,
      ]);
    }
  });
});

describe('docs/books.md', () => {
  it('has the accounts of the books, and no other', () => {
    const section = page('books.md')
      .split(/^## /m)
      .find((part) => part.startsWith('Chart of accounts'));
    const documented = [...(section ?? '').matchAll(/^\| `([a-z]+)` \|/gm)].map(([, name]) => name);
    expect(documented).to.deep.equal([...BOOK_ACCOUNTS]);
  });

  it('has the tables of the read models that the books are in, and no other', () => {
    const section = page('books.md').split(/^## /m).at(-1);
    const documented = [...(section ?? '').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
    const tables = Object.keys(READ_TABLES).filter((name) => name !== 'play_sessions');
    expect(documented).to.have.members(tables);
  });
});

describe('docs/settings.md', () => {
  it('has every setting of an app with its default, and no other', () => {
    const documented = [
      ...page('settings.md').matchAll(/^\| `(\w+)` \|.*\| (none|`[^`|]+`) \|[^|]+\|$/gm),
    ].map(([, name, value = '']) => [name, value === 'none' ? undefined : JSON.parse(value.slice(1, -1))]);
    const inCode = Object.entries(settings).map(([name, setting]) => [name, setting.default]);
    expect(documented).to.have.deep.members(inCode);
  });
});

describe('docs/operating/README.md', () => {
  it('lists every variable of the configuration, and no other', () => {
    const section = page('operating/README.md')
      .split(/^## /m)
      .find((part) => part.startsWith('Settings'));
    const documented = [...(section ?? '').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
    expect(documented).to.have.members(configuredVariables());
  });
});

describe('docs/commands.md', () => {
  const listed = listedCommands(page('commands.md'));

  it('lists every command, and no other', () => {
    expect(listed.flatMap(({ names }) => names)).to.have.members([...commandNames(program)]);
  });

  it('lists only options that the commands in the row accept', () => {
    for (const { names, options } of listed) {
      const dead = options.filter((option) =>
        names.every((name) => deadCommand(program, `${name} ${option}`).length > 0),
      );
      expect(dead, names.join(', ')).to.deep.equal([]);
    }
  });
});

describe('every document', () => {
  const tree = readTree(ROOT);
  const documents = documentsOf(tree);
  const scripts = tree.filter(({ path }) => path.endsWith('package.json')).map(({ text }) => text);
  const deadIn = {
    paths: deadPaths(tree),
    commands: deadCommands(program, scriptsOf(scripts)),
    variables: deadVariables(tree),
  };

  for (const [kind, dead] of Object.entries(deadIn)) {
    it(`names only ${kind} that exist`, () => {
      expect(deadNames(documents, dead)).to.deep.equal([]);
    });
  }

  const said = (text: string): SourceFile => file('packages/ledger/README.md', text);

  it('is searched for paths that do not exist', () => {
    const paths = [
      'packages/ledger/src/domain/playSession.ts',
      'packages/kernel/src/decider.ts',
      'docs/api.md',
    ];
    const dead = deadPaths(paths.map((path) => file(path, '')));
    const text =
      'In `src/domain/playSession.ts`, `playSession.ts`, `docs/api.md`, `play*.ts`, `src/gone.ts`, `packages/gone/` and `decider.ts`.';
    expect(deadNames([said(text)], dead)).to.deep.equal([
      'packages/ledger/README.md:1  src/gone.ts',
      'packages/ledger/README.md:1  packages/gone/',
      'packages/ledger/README.md:1  decider.ts',
    ]);
  });

  it('is searched for commands and options that do not exist', () => {
    const text =
      '```sh\nnpx coffer keys list --app A --env test\nnpx coffer keys lits\ncoffer run --fast | npm run chekc\n```\n';
    expect(deadNames([said(text)], deadIn.commands)).to.deep.equal([
      'packages/ledger/README.md:3  coffer keys lits',
      'packages/ledger/README.md:4  coffer run --fast',
      'packages/ledger/README.md:4  npm run chekc',
    ]);
  });

  it('is searched for variables that do not exist', () => {
    const dead = deadVariables([file('config.ts', 'COFFER_DATA_DIR')]);
    expect(deadNames([said('`COFFER_DATA_DIR` and `COFFER_DATA_FOLDERS`')], dead)).to.deep.equal([
      'packages/ledger/README.md:1  COFFER_DATA_FOLDERS',
    ]);
  });
});

function scriptsOf(manifests: readonly string[]): ReadonlySet<string> {
  return new Set(manifests.flatMap((manifest) => Object.keys(Object(JSON.parse(manifest)).scripts ?? {})));
}
