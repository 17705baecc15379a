import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const SETUP = fileURLToPath(import.meta.resolve('./mochaSetup.ts'));
const HELPER = import.meta.resolve('./endAtFirstFailure.ts');

describe('a parallel run', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-parallel-run-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('ends a file whose tests build on one another at the first failure, and runs the others', async () => {
    const steps = `
      import { endAtFirstFailure } from '${HELPER}';
      describe('steps', () => {
        endAtFirstFailure();
        describe('down', () => it('breaks', () => { throw new Error('broken'); }));
        describe('up', () => it('builds on what broke', () => {}));
      });`;
    await writeFile(join(folder, '0.mjs'), steps);
    const others = ['1.mjs', '2.mjs', '3.mjs', '4.mjs', '5.mjs', '6.mjs'];
    for (const name of others) await writeFile(join(folder, name), `it('${name}', () => {});`);

    const { code, stdout } = await run([
      ...[MOCHA, '--no-config', '--require', SETUP, '--reporter', 'json', '--parallel', '--jobs', '2'],
      ...['0.mjs', ...others],
    ]);
    const { stats, passes } = JSON.parse(stdout);
    const passed = passes.map(({ title }: { readonly title: string }) => title);
    expect(passed).to.have.members(others);
    expect(stats).to.include({ tests: others.length + 1 });
    expect(code).to.equal(2);
  });

  function run(args: readonly string[]): Promise<{ readonly code: unknown; readonly stdout: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [...args], { cwd: folder }, (error, stdout) =>
        resolve({ code: error?.code, stdout }),
      );
    });
  }
});
