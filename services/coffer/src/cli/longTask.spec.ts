import { Writable } from 'node:stream';
import { expect } from 'chai';
import { Command } from 'commander';
import { collector, preparedService } from '../testing/commandLine.ts';
import { createCli } from './cli.ts';
import { CommandFailure } from './failure.ts';
import { displayProgress } from './progress.ts';

describe('a long task', () => {
  const service = preparedService();
  const answersLines = (lines: readonly object[], breaksOff = false) =>
    service.answersLines(
      lines.map((line) => JSON.stringify(line)),
      breaksOff,
    );

  const run = async (options: { readonly body?: unknown } = {}, json = true) => {
    const stdout = collector();
    const stderr = collector();
    const cli = createCli({
      variables: { COFFER_URL: service.url, COFFER_OPERATOR_TOKEN: 'token' },
      workingFolder: '.',
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    const command = new Command().option('--json').parse(json ? ['--json'] : [], { from: 'user' });
    const failure = await cli
      .runTask(command, '/portal/task', { query: { app: 'app_1' }, ...options })
      .then(() => undefined)
      .catch((error: unknown) => error);
    return { failure, stdout: stdout.text(), stderr: stderr.text() };
  };

  const progress = (stage: string, done: number, of: number | null) => ({
    kind: 'progress',
    stage,
    done,
    of,
  });

  it('prints its result on standard output and its progress on standard error', async () => {
    answersLines([progress('reading', 1, 4), { kind: 'result', result: { ok: true, events: 4 } }]);
    const { failure, stdout, stderr } = await run();
    expect(failure).to.equal(undefined);
    expect(JSON.parse(stdout)).to.deep.equal({ ok: true, events: 4 });
    expect(stderr).to.equal('reading: 1 of 4 (25 %)\n');
    expect((await run({}, false)).stdout).to.match(/events.*4/);
  });

  it('is a GET, with a body a POST', async () => {
    answersLines([{ kind: 'result', result: { ok: true } }]);
    await run();
    await run({ body: { chain: true } });
    expect(service.asked.map(({ method, url, body }) => [method, url, body])).to.deep.equal([
      ['GET', '/v1/portal/task?app=app_1', undefined],
      ['POST', '/v1/portal/task?app=app_1', { chain: true }],
    ]);
  });

  it('that fails prints its result all the same, and is refused with its code', async () => {
    const result = { ok: false, code: 'audit/log_corrupt', message: 'No.', faults: 2 };
    answersLines([{ kind: 'result', result }]);
    const { failure, stdout } = await run();
    expect(JSON.parse(stdout)).to.include({ ok: false, faults: 2 });
    expect(failure).to.be.instanceOf(CommandFailure).and.include({ exitCode: 1 });
    expect(failure).to.have.property('message', 'audit/log_corrupt: No.');
  });

  it('without a result has not been done: exit code 3', async () => {
    answersLines([progress('reading', 1, null)]);
    const cut = await run();
    answersLines([progress('reading', 1, null)], true);
    const broken = await run();
    answersLines([{ kind: 'something else' }]);
    const foreign = await run();
    for (const { failure, stdout } of [cut, broken, foreign]) {
      expect(failure).to.be.instanceOf(CommandFailure).and.include({ exitCode: 3 });
      expect(stdout).to.equal('');
    }
  });
});

describe('the progress of a long task', () => {
  it('is a line for each stage and one every five seconds, without a terminal', () => {
    let nowMs = 1_000_000;
    const stderr = collector();
    const display = displayProgress(stderr.stream, () => nowMs);
    display.show({ stage: 'reading', done: 1, of: null });
    nowMs += 4_999;
    display.show({ stage: 'reading', done: 2, of: null });
    nowMs += 1;
    display.show({ stage: 'reading', done: 3, of: null });
    display.show({ stage: 'comparing', done: 0, of: 0 });
    display.end();
    expect(stderr.text()).to.equal('reading: 1\nreading: 3\ncomparing: 0 of 0 (100 %)\n');
  });

  it('is a bar on a terminal, which is gone at the end', () => {
    const screen: string[] = [];
    const stream = Object.assign(
      new Writable({
        decodeStrings: false,
        write: (chunk: string, _encoding, done) => {
          screen.push(chunk);
          done();
        },
      }),
      { isTTY: true, columns: 120 },
    );
    const display = displayProgress(stream);
    display.show({ stage: 'reading', done: 10, of: 40 });
    display.end();
    const text = screen.join('');
    expect(text).to.include(`${'█'.repeat(10)}${'░'.repeat(30)} reading: 10 of 40 (25 %)`);
    expect(text.endsWith('\u001b[2K'), 'the line is cleared').to.equal(true);
  });
});
