import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PATIENCE_MS } from '@coffer/testing';

/** Leaves much garbage behind, and then allocates a little all the time, as a service does of which nothing is asked. */
const PROGRAM = `
  import { performance } from 'node:perf_hooks';
  import { giveMemoryBackAtRest } from '${import.meta.resolve('./memoryAtRest.ts')}';
  let objects = Array.from({ length: 600_000 }, (_, number) => ({ number, text: String(number) }));
  objects = [];
  const { heapTotal: before } = process.memoryUsage();
  giveMemoryBackAtRest([performance], 3);
  const timer = setInterval(() => {
    objects = Array.from({ length: 2_000 }, (_, number) => ({ number }));
    if (process.memoryUsage().heapTotal < before / 2) clearInterval(timer);
  }, 20);`;

describe('the memory that V8 keeps for the next load', () => {
  it('is given back once a process has been at rest for some seconds', async () => {
    const flags = ['--gc-memory-reducer-start-delay-ms=100', '--input-type=module'];
    // It ends once it has it back.
    await promisify(execFile)(process.execPath, [...flags, '--eval', PROGRAM], { timeout: PATIENCE_MS });
  });
});
