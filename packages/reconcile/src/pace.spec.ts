import { expect } from 'chai';
import { createPace } from './pace.ts';

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
    const minutes = 60_000;
    await run.part(2.5 * minutes);
    expect(run.rests).to.deep.equal([12.5 * minutes]);
    for (const tookMs of [15, 25] as const) await run.part(tookMs * minutes);
    expect(run.rests.slice(1)).to.deep.equal([37.5 * minutes, 25 * minutes]);
    expect(run.isLate()).to.equal(true);
  });

  it('is late once it rests no longer than it works', async () => {
    const run = work();
    await run.part(12 * 60_000);
    expect(run.isLate()).to.equal(false);
    await run.part(3 * 60_000);
    expect(run.isLate()).to.equal(true);
  });

  it('is woken by its signal', async () => {
    const { rest } = createPace({ isAwaited: async () => false });
    const failure = await rest(AbortSignal.abort()).catch((error: unknown) => error);
    expect(failure).to.have.property('name', 'AbortError');
  });
});
