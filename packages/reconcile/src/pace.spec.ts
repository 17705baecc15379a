import { expect } from 'chai';
import { createPace } from './pace.ts';

const MINUTE_MS = 60_000;

describe('a run that nobody waits for', () => {
  const { signal } = new AbortController();

  function work() {
    let nowMs = 0;
    let isAwaited = false;
    const rests: number[] = [];
    const { rest, isUnhurried, isLate } = createPace({
      isAwaited: async () => isAwaited,
      nowMs: () => nowMs,
      async wait(forMs) {
        rests.push(forMs);
        nowMs += forMs;
      },
    });
    return {
      rests,
      isUnhurried,
      isLate,
      async part(tookMs: number) {
        nowMs += tookMs;
        await rest(signal);
      },
      await() {
        isAwaited = true;
      },
    };
  }

  it('rests five times as long as it works', async () => {
    const run = work();
    for (const tookMs of [100, 250]) await run.part(tookMs);
    expect(run.rests).to.deep.equal([500, 1_250]);
  });

  it('goes on at once from when somebody waits for it', async () => {
    const run = work();
    await run.part(100);
    expect(run.isUnhurried()).to.equal(true);
    run.await();
    await run.part(100);
    expect(run.rests).to.deep.equal([500]);
    expect(run.isUnhurried()).to.equal(false);
  });

  it('rests less and less after a quarter of an hour, so that it reaches the end of a log that grows', async () => {
    const run = work();
    for (const minutes of [2.5, 15, 25]) await run.part(minutes * MINUTE_MS);
    expect(run.rests.map((restMs) => restMs / MINUTE_MS)).to.deep.equal([12.5, 37.5, 25]);
  });

  it('is late once it rests no longer than it works', async () => {
    const run = work();
    await run.part(12 * MINUTE_MS);
    expect(run.isLate()).to.equal(false);
    await run.part(3 * MINUTE_MS);
    expect(run.isLate()).to.equal(true);
  });

  it('is woken by its signal', async () => {
    const { rest } = createPace({ isAwaited: async () => false });
    const failure = await rest(AbortSignal.abort()).catch((error: unknown) => error);
    expect(failure).to.have.property('name', 'AbortError');
  });
});
