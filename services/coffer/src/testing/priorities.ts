/** A system of one thread that allows some priorities, for specs. */
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

export function allowedPriorities(): {
  readonly allow: (isAllowed: (next: number, now: number) => boolean) => void;
  readonly niceness: () => number;
} {
  const { getPriority, setPriority } = os;
  let niceness = 0;
  beforeEach(() => {
    niceness = 0;
  });
  afterEach(() => {
    Object.assign(os, { getPriority, setPriority });
    syncBuiltinESMExports();
  });
  return {
    allow(isAllowed) {
      os.getPriority = () => niceness;
      os.setPriority = (_thread: number, next?: number) => {
        if (!isAllowed(Number(next), niceness)) throw new Error('operation not permitted');
        niceness = Number(next);
      };
      syncBuiltinESMExports();
    },
    niceness: () => niceness,
  };
}
