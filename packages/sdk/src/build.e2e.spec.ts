/**
 * The published package as its users get it: packed, and installed in an empty folder with nothing of ours
 * around it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { expect } from 'chai';
import { build } from 'esbuild';

const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, '..');
const { resolve: find } = createRequire(import.meta.url);
const COMPILER = join(dirname(find('@typescript/native/package.json')), 'bin/tsc');

/** A program that uses types and values, and nothing that a platform may lack. */
const USER = `
import { CofferError, createBackendClient, createPlayerClient, type CallOptions, type PlacedBet } from '@coffer/sdk';
const options: CallOptions = { deadlineMs: 900 };
const answer = JSON.stringify({ sessionId: 'ses_a', transactionUuid: 't1', amount: '40', balance: '60', status: 'accepted' });
const fetch = async (_url: string, init: { readonly body?: string }) =>
  ({ ok: init.body !== undefined, status: 200, headers: { get: () => null }, text: async () => answer });
const backend = createBackendClient({ baseUrl: 'http://coffer.example/v1', secretKey: 'sk_test_a', fetch });
const bet: PlacedBet = await backend.ledger.bet({ sessionId: 'ses_a', amount: 40n, transactionUuid: 't1' }, options);
const player = createPlayerClient({ baseUrl: 'http://coffer.example/v1', publishableKey: 'pk_test_a' });
const code = await player.me().catch((error: unknown) => error instanceof CofferError && error.code);
export const seen: readonly [bigint, unknown] = [bet.amount, code];
`;
/** With the platform's types: its own fetch and its own signal fit. */
const PLATFORM_USER = `${USER}
createBackendClient({ baseUrl: 'http://coffer.example/v1', secretKey: 'sk_test_a', fetch: globalThis.fetch });
createBackendClient({
  baseUrl: 'http://coffer.example/v1',
  secretKey: 'sk_test_a',
  fetch: async (_url: string, init: RequestInit) => Response.json(init.body),
});
export const stoppable: CallOptions = { signal: AbortSignal.timeout(5) };
`;

const PAGE = `
import { createPlayerClient } from '@coffer/sdk';
const options = { baseUrl: 'http://coffer.example/v1', publishableKey: 'pk_test_a', retry: { deadlineMs: 50 } };
createPlayerClient(options).messenger.verify({ initData: 'a=1' }).catch(({ code }) => told(code));
`;

const NODE_TYPES = dirname(dirname(find('@types/node/package.json')));

describe('the built package', () => {
  let folder = '';
  let published = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-sdk-'));
    published = join(folder, 'node_modules/@coffer/sdk');
    const dist = join(folder, 'dist');
    const npm = (...args: string[]) =>
      run('npm', [...args, '--cache', join(folder, 'cache')], { cwd: folder });
    await run(process.execPath, [join(PACKAGE, 'scripts/build.ts'), dist]);
    const { stdout } = await npm('pack', dist, '--json');
    const [{ filename }] = JSON.parse(stdout);
    await npm('install', `./${filename}`, '--offline', '--no-audit', '--no-fund');
  });
  after(() => rm(folder, { recursive: true }));

  it('needs nothing else: no dependency, no import but of its own files', async () => {
    const manifest = JSON.parse(await readFile(join(published, 'package.json'), 'utf8'));
    expect(manifest).not.to.have.any.keys('dependencies', 'peerDependencies', 'private');
    expect(manifest).to.deep.include({ name: '@coffer/sdk', type: 'module' });
    const files = await readdir(published);
    expect(files).to.include.members(['index.js', 'index.d.ts', 'README.md']);
    for (const file of files.filter((name) => name.endsWith('.js'))) {
      const imported = [...(await readFile(join(published, file), 'utf8')).matchAll(/from '([^']+)'/g)];
      for (const [, specifier] of imported) expect(specifier, file).to.match(/^\.\/\w+\.js$/);
    }
  });

  it('has no specs and no helpers of specs in it', async () => {
    expect((await readdir(published)).filter((name) => /spec|contract|testing/.test(name))).to.deep.equal([]);
  });

  const nodeTypes = ['--typeRoots', NODE_TYPES, '--types', 'node'];
  const dom = ['--types', '', '--lib', 'es2022,dom'];
  for (const [title, program, options] of [
    [
      'Node and its types, without the DOM',
      PLATFORM_USER,
      ['--module', 'nodenext', '--lib', 'es2022', ...nodeTypes],
    ],
    ['a platform without types of its own', USER, ['--module', 'nodenext', '--lib', 'es2022', '--types', '']],
    ['a browser', PLATFORM_USER, ['--module', 'nodenext', ...dom]],
    ['a bundler', PLATFORM_USER, ['--module', 'esnext', '--moduleResolution', 'bundler', ...dom]],
  ] as const) {
    it(`compiles for ${title}, and runs in plain Node`, async () => {
      await writeFile(join(folder, 'user.mts'), program);
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];
      const target = ['--target', 'es2022', '--ignoreConfig', ...options];
      const checked = run(process.execPath, [COMPILER, ...strict, ...target, 'user.mts'], { cwd: folder });
      await checked.catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
      const code = "import('./user.mjs').then(({ seen }) => console.log(seen.join()))";
      const { stdout } = await run(process.execPath, ['--eval', code], { cwd: folder });
      expect(stdout.trim()).to.equal('40,sdk/not_signed_in');
    });
  }

  it('is bundled for a browser, and asks for nothing that a browser lacks', async () => {
    await writeFile(join(folder, 'page.js'), PAGE);
    const { outputFiles, warnings } = await build({
      absWorkingDir: folder,
      entryPoints: ['page.js'],
      bundle: true,
      platform: 'browser',
      write: false,
    });
    expect(warnings).to.deep.equal([]);
    const { promise, resolve } = Promise.withResolvers<string>();
    const { AbortSignal, URL, crypto, performance, setTimeout, clearTimeout } = globalThis;
    const fetch = () => Promise.reject(new TypeError('Failed to fetch'));
    const browser = { AbortSignal, URL, crypto, performance, setTimeout, clearTimeout, fetch, told: resolve };
    runInContext(outputFiles[0]?.text ?? '', createContext(browser));
    expect(await promise).to.equal('sdk/no_answer');
  });
});
