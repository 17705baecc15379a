/**
 * After a change to what the tour prints, run this spec with COFFER_WRITE_README=1 and read the difference.
 */
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serviceProcesses } from '../services/coffer/src/testing/serviceProcess.ts';
import { runTour, tourSteps, withOutputs, withoutChance } from './readme/tour.ts';

const ROOT = join(import.meta.dirname, '..');
const README = join(ROOT, 'README.md');
/** The default address; here the service is at any free port. */
const HOST = '127.0.0.1:8080';

/** For the receiver of the tour, which listens at a port that it is given. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? String(address.port) : '';
}

describe('the README', () => {
  // The first start creates a database cluster, and transfers on the chain take seconds to become final.
  const processes = serviceProcesses();

  it('shows what the tour prints', async () => {
    const service = await processes.start({ until: 'ready' });
    const folder = await mkdtemp(join(tmpdir(), 'coffer-tour-'));
    await symlink(service.dataFolder, join(folder, '.data'));
    for (const name of ['docs', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
    const readme = await readFile(README, 'utf8');
    const steps = tourSteps(readme);
    const outputs = await runTour(steps, folder, { HOOKS: await freePort() });
    const { host } = new URL(service.url);
    const printed = withOutputs(
      readme,
      outputs.map((output) => output.replaceAll(host, HOST)),
    );
    await rm(folder, { recursive: true });

    if (process.env.COFFER_WRITE_README) await writeFile(README, printed);
    expect(steps).to.have.length.greaterThan(5);
    expect(withoutChance(printed)).to.equal(
      withoutChance(process.env.COFFER_WRITE_README ? printed : readme),
    );
  });
});
