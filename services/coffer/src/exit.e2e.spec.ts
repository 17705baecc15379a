/** The end of the program, after its work is done. */
import { expect } from 'chai';
import { serviceProcesses } from './testing/serviceProcess.ts';

describe('the program', () => {
  const processes = serviceProcesses();

  it('leaves as soon as nothing is left to do, and leaves the clean-up out, which may never end', async () => {
    // On a second turn of the loop, the program would have reached the clean-up.
    const stirs = "process.once('beforeExit', () => setImmediate(() => process.exit(99)))";
    const variables = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(stirs)}` };
    const { exitCode, stdout } = await processes.command(['--version'], variables);
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });
});
