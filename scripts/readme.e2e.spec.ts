/** After a change of what the tour prints: run this spec with COFFER_WRITE_README=1 and read the difference. */
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serviceProcesses } from '../services/coffer/src/testing/serviceProcess.ts';
import { runTour, tourSteps, withOutputs, withoutChance } from './readme/tour.ts';

const README = join(import.meta.dirname, '../README.md');

describe('the README', () => {
  const processes = serviceProcesses();

  it('shows what the tour prints', async () => {
    const service = await processes.start({ until: 'ready' });
    const folder = await mkdtemp(join(tmpdir(), 'coffer-tour-'));
    await symlink(service.dataFolder, join(folder, '.data'));
    const readme = await readFile(README, 'utf8');
    const steps = tourSteps(readme);
    const printed = withOutputs(readme, await runTour(steps, folder));
    await rm(folder, { recursive: true });

    if (process.env.COFFER_WRITE_README) await writeFile(README, printed);
    expect(steps).to.have.length.greaterThan(5);
    expect(withoutChance(printed)).to.equal(
      withoutChance(process.env.COFFER_WRITE_README ? printed : readme),
    );
  });
});
