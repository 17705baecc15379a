import { setImmediate } from 'node:timers/promises';
import { createLogger } from '@coffer/http';
import { expect } from 'chai';
import { allowedPriorities } from './testing/priorities.ts';
import { CHECK_EVERY_MS, type Policy, type Yielding, yieldWhileUpToDate } from './yielding.ts';

if (process.platform === 'linux') {
  describe('The thread that reads the log', () => {
    const priorities = allowedPriorities();
    let lines: string[];
    let policies: Policy[];
    let nowMs: number;
    let isUpToDate: boolean;
    let fails: boolean;
    let changes: Promise<void>;
    const start = () =>
      yieldWhileUpToDate({
        thread: 1,
        async setPolicy(_thread, policy) {
          if (fails) throw new Error('there is no such command');
          policies.push(policy);
          await changes;
        },
        nowMs: () => nowMs,
        logger: createLogger({ level: 'warn', destination: { write: (line) => lines.push(line) } }),
      });
    const after = async (checks: number, yielding: Yielding | undefined) => {
      for (let check = 0; check < checks; check += 1) {
        nowMs += CHECK_EVERY_MS;
        if (isUpToDate) yielding?.isUpToDate();
        yielding?.check();
        await setImmediate();
      }
      return policies.at(-1);
    };
    beforeEach(() => {
      lines = [];
      policies = [];
      nowMs = 0;
      isUpToDate = true;
      fails = false;
      changes = Promise.resolve();
      priorities.allow(() => true);
    });

    it('keeps its share where it could not take it back', () => {
      priorities.allow((next, now) => next >= now);
      expect(start()).to.equal(undefined);
      expect(priorities.niceness()).to.equal(1);
      expect(lines).to.deep.equal([]);
    });

    it('takes what others leave ten seconds after its start and after it was behind, and has its share at the end', async () => {
      const yielding = start();
      expect(priorities.niceness()).to.equal(0);
      expect(await after(39, yielding)).to.equal(undefined);
      expect(await after(42, yielding)).to.equal('idle');
      isUpToDate = false;
      expect(await after(4, yielding), 'for a second').to.equal('idle');
      expect(await after(1, yielding), 'for longer').to.equal('share');
      isUpToDate = true;
      expect(await after(39, yielding), 'up to date').to.equal('share');
      expect(await after(1, yielding), 'for ten seconds').to.equal('idle');
      await yielding?.end();
      expect(policies).to.deep.equal(['idle', 'share', 'idle', 'share']);
    });

    it('keeps its share twice as long each time it falls behind again at once, ten minutes at the most', async () => {
      const yielding = start();
      await after(40, yielding);
      for (const checks of [80, 160, 320, 640, 1_280, 2_400, 2_400]) {
        isUpToDate = false;
        await after(24, yielding);
        isUpToDate = true;
        expect(await after(checks - 1, yielding), `${checks} checks`).to.equal('share');
        expect(await after(1, yielding), `${checks} checks`).to.equal('idle');
      }
      await after(2_400, yielding);
      isUpToDate = false;
      await after(5, yielding);
      isUpToDate = true;
      expect(await after(40, yielding), 'after it was idle for as long').to.equal('idle');
    });

    it('has its share at the end even if it is about to give way', async () => {
      const yielding = start();
      await after(39, yielding);
      yielding?.check();
      await yielding?.end();
      expect(policies).to.deep.equal(['idle', 'share']);
    });

    it('changes its policy once at a time', async () => {
      const yielding = start();
      await after(39, yielding);
      const changed = Promise.withResolvers<void>();
      changes = changed.promise;
      await after(3, yielding);
      expect(policies).to.deep.equal(['idle']);
      changed.resolve();
      await after(1, yielding);
      expect(policies).to.deep.equal(['idle']);
    });

    it('keeps its share, with one warning, where it cannot give way', async () => {
      fails = true;
      const yielding = start();
      await after(43, yielding);
      fails = false;
      await after(43, yielding);
      await yielding?.end();
      expect(lines).to.have.length(1);
      expect(policies).to.deep.equal([]);
    });

    it('asks for its share until it has it, with one warning, and keeps it', async () => {
      const yielding = start();
      await after(40, yielding);
      isUpToDate = false;
      fails = true;
      await after(10, yielding);
      isUpToDate = true;
      fails = false;
      await after(50, yielding);
      expect(lines).to.have.length(1);
      expect(policies).to.deep.equal(['idle', 'share']);
    });
  });
}
