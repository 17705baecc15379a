/** Unused code and undeclared imports, found by knip as `knip.jsonc` says. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const root = fileURLToPath(new URL('..', import.meta.url));
const knip = join(root, 'node_modules/knip/bin/knip.js');

describe('the code and the manifests', () => {
  it('have no unused file, export or dependency, and declare what they import', async () => {
    const looking = promisify(execFile)(process.execPath, [knip, '--no-progress', '--reporter', 'compact'], {
      cwd: root,
    });
    const found = await looking.then(
      () => '',
      ({ stdout, stderr }) => `${stdout}${stderr}`,
    );
    expect(
      found,
      'Delete it, or drop its "export"; what knip cannot see used goes into knip.jsonc, with the reason',
    ).to.equal('');
  });
});
