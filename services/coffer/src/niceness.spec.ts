import { createLogger } from '@coffer/http';
import { expect } from 'chai';
import { giveWay, letHelpersGiveWay } from './niceness.ts';
import { allowedPriorities } from './testing/priorities.ts';

if (process.platform === 'linux') {
  describe('A thread of which not all must be served first', () => {
    const priorities = allowedPriorities();
    for (const way of [giveWay, letHelpersGiveWay]) {
      it(`starts all the same where priorities are forbidden, with one warning: ${way.name}`, async () => {
        const lines: string[] = [];
        priorities.allow(() => false);
        await way(createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } }));
        expect(lines).to.have.length(1);
      });
    }

    it('is nicer by 5', () => {
      priorities.allow(() => true);
      giveWay(createLogger({ level: 'warn' }));
      expect(priorities.niceness()).to.equal(5);
    });
  });
}
