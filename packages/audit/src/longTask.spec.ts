import { expect } from 'chai';
import { taskLines } from './longTask.ts';

async function* counting(to: number, onEnd = () => {}): AsyncGenerator<number, string> {
  try {
    for (let done = 1; done <= to; done++) yield done;
    return 'counted';
  } finally {
    onEnd();
  }
}

describe('the lines of a long task', () => {
  const linesOf = async (task: AsyncGenerator<number, string>, stepMs: number) => {
    let nowMs = 0;
    const clock = () => {
      nowMs += stepMs;
      return nowMs;
    };
    const progressOf = (done: number) => ({ stage: 'counting', done, of: null });
    const lines: unknown[] = [];
    for await (const line of taskLines(task, progressOf, (report) => ({ report }), clock)) lines.push(line);
    return lines;
  };

  it('are its progress, the first at once and then a few a second, and its result', async () => {
    expect(await linesOf(counting(7), 100)).to.deep.equal([
      { kind: 'progress', stage: 'counting', done: 1, of: null },
      { kind: 'progress', stage: 'counting', done: 4, of: null },
      { kind: 'progress', stage: 'counting', done: 7, of: null },
      { kind: 'result', result: { report: 'counted' } },
    ]);
  });

  it('end with the task, and the task ends with whoever reads them', async () => {
    let isOver = false;
    const task = counting(1_000, () => {
      isOver = true;
    });
    for await (const _line of taskLines(task, (done) => ({ stage: '', done, of: null }), String)) break;
    expect(isOver).to.equal(true);
  });

  it('break off without a result where the task fails', async () => {
    const failing = (async function* (): AsyncGenerator<number, string> {
      yield 1;
      throw new Error('the store is away');
    })();
    const failure = await linesOf(failing, 1_000).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(Error).and.have.property('message', 'the store is away');
  });
});
