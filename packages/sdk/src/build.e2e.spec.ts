/** What is published, as its users meet it: in a folder of its own, with nothing of this repository around it. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, '..');
const { resolve: find } = createRequire(import.meta.url);
const COMPILER = join(dirname(find('typescript/package.json')), 'bin/tsc');

/** A program that uses types and values; strict, and with the declarations themselves checked. */
const USER = `
import { CofferError, createBackendClient, createPlayerClient, type PlacedBet } from '@coffer/sdk';
const fetch = async (_url: string, init: RequestInit) =>
  Response.json({ ...JSON.parse(String(init.body)), balance: '60', status: 'accepted' });
const backend = createBackendClient({ baseUrl: 'http://coffer.example/v1', secretKey: 'sk_test_a', fetch });
const bet: PlacedBet = await backend.ledger.bet({ sessionId: 'ses_a', amount: 40n, transactionUuid: 't1' });
const player = createPlayerClient({ baseUrl: 'http://coffer.example/v1', publishableKey: 'pk_test_a' });
const code = await player.me().catch((error: unknown) => error instanceof CofferError && error.code);
export const seen: readonly [bigint, unknown] = [bet.amount, code];
`;

describe('the built package', () => {
  let folder = '';
  let published = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-sdk-'));
    published = join(folder, 'node_modules/@coffer/sdk');
    await mkdir(dirname(published), { recursive: true });
    await run(process.execPath, [join(PACKAGE, 'scripts/build.ts'), published]);
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

  it('has no specs in it', async () => {
    expect((await readdir(published)).filter((name) => /spec|contract/.test(name))).to.deep.equal([]);
  });

  for (const [title, options] of [
    ['a program for Node', ['--module', 'nodenext', '--lib', 'es2022,dom']],
    ['a bundled frontend', ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom']],
  ] as const) {
    it(`is typed for ${title}`, async () => {
      await writeFile(join(folder, 'user.mts'), USER);
      const strict = [
        '--strict',
        '--skipLibCheck',
        'false',
        '--types',
        '',
        '--target',
        'es2022',
        '--ignoreConfig',
      ];
      const checked = run(process.execPath, [COMPILER, ...strict, ...options, 'user.mts'], { cwd: folder });
      await checked.catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
      const { seen } = await import(join(folder, 'user.mjs'));
      expect(seen).to.deep.equal([40n, 'sdk/not_signed_in']);
    });
  }
});
