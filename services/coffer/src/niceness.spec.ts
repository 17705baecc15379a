import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { createLogger } from '@coffer/http';
import { expect } from 'chai';
import { giveWay, letHelpersGiveWay } from './niceness.ts';

if (process.platform === 'linux') {
  describe('A system that does not allow setting priorities', () => {
    const { setPriority } = os;
    beforeEach(() => {
      os.setPriority = () => {
        throw new Error('operation not permitted');
      };
      syncBuiltinESMExports();
    });
    afterEach(() => {
      os.setPriority = setPriority;
      syncBuiltinESMExports();
    });

    for (const way of [giveWay, letHelpersGiveWay]) {
      it(`is warned of once, and the start goes on: ${way.name}`, async () => {
        const lines: string[] = [];
        await way(createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } }));
        expect(lines).to.have.length(1);
      });
    }
  });
}
