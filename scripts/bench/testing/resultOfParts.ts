/** A result of no machine in particular. */
import type { MachineFacts } from '../machine.ts';
import { SHORT_PLAN } from '../plan.ts';
import { type BenchResult, type Figures, resultOf } from '../report.ts';

const MACHINE: MachineFacts = {
  cores: 2,
  model: 'a processor of <Company>',
  memoryMiB: 4_096,
  kernel: '6.1',
  fileSystem: 'ext4',
  node: 'v24',
  platform: 'linux',
  commit: 'abc',
  postgres: { version: '18', settings: {} },
  loadAtStart: [0, 0, 0],
  loadAtEnd: [0, 0, 0],
};

export const resultOfParts = (figures: Figures): BenchResult => resultOf(SHORT_PLAN, MACHINE, figures);
