import { expect } from 'chai';
import { longTask, type TaskProgress, type TaskResult } from './longTask.ts';

describe('a long task', () => {
  it('reports the progress of each stage, and then the result', async () => {
    const lines = await linesOf(async (report) => {
      report({ stage: 'reading', done: 1, of: 2 });
      await turn();
      report({ stage: 'comparing', done: 0, of: null });
      await turn();
      return { ok: true };
    });
    expect(lines).to.deep.equal([
      { kind: 'progress', stage: 'reading', done: 1, of: 2 },
      { kind: 'progress', stage: 'comparing', done: 0, of: null },
      { kind: 'result', result: { ok: true } },
    ]);
  });

  it('reports no more often than anyone can read', async () => {
    const lines = await linesOf(async (report) => {
      for (let done = 0; done < 100; done++) {
        report({ stage: 'reading', done, of: 100 });
        await turn();
      }
      return { ok: true };
    });
    expect(lines.length).to.be.lessThan(50);
    expect(lines.at(-1)).to.deep.equal({ kind: 'result', result: { ok: true } });
  });

  it('is never silent for long', async () => {
    const over = Promise.withResolvers<TaskResult>();
    const lines = longTask((report) => {
      report({ stage: 'comparing', done: 2, of: 2 });
      return over.promise;
    }, 1);
    const told = { kind: 'progress', stage: 'comparing', done: 2, of: 2 };
    for (let line = 0; line < 3; line++) expect((await lines.next()).value).to.deep.equal(told);
    over.resolve({ ok: true });
    expect((await lines.next()).value).to.deep.equal({ kind: 'result', result: { ok: true } });
    expect(await lines.next()).to.include({ done: true });
  });

  it('breaks off when it fails, before and after the first line', async () => {
    const failing = (before: boolean) =>
      linesOf(async (report) => {
        if (!before) report({ stage: 'reading', done: 1, of: 2 });
        await turn();
        throw new Error('the store is away');
      });
    for (const before of [true, false]) {
      const failure = await failing(before).catch((error: unknown) => error);
      expect(failure).to.have.property('message', 'the store is away');
    }
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function linesOf(work: (report: (progress: TaskProgress) => void) => Promise<TaskResult>) {
  const lines: unknown[] = [];
  for await (const line of longTask(work)) lines.push(line);
  return lines;
}
