import { expect } from 'chai';
import { createPace } from './pace.ts';

describe('a run that nobody waits for', () => {
  const { signal } = new AbortController();

  function work() {
    let nowMs = 0;
    let isAwaited = false;
    let asked = 0;
    const rests: number[] = [];
    const { rest, isUnhurried } = createPace({
      async isAwaited() {
        asked += 1;
        return isAwaited;
      },
      nowMs: () => nowMs,
      async wait(forMs) {
        rests.push(forMs);
        nowMs += forMs;
      },
    });
    return {
      rests,
      isUnhurried,
      asked: () => asked,
      async part(tookMs: number) {
        nowMs += tookMs;
        await rest(signal);
      },
      await(somebody: boolean) {
        isAwaited = somebody;
      },
    };
  }

  it('rests five times as long as it works', async () => {
    const run = work();
    for (const tookMs of [100, 250]) await run.part(tookMs);
    expect(run.rests).to.deep.equal([500, 1_250]);
  });

  it('does not rest from less than 4 ms of work, but counts it', async () => {
    const run = work();
    for (const tookMs of [3, 2, 1]) await run.part(tookMs);
    expect(run.rests).to.deep.equal([25]);
  });

  it('goes on at once from when somebody waits for it', async () => {
    const run = work();
    await run.part(100);
    expect(run.isUnhurried()).to.equal(true);
    run.await(true);
    await run.part(100);
    expect(run.rests).to.deep.equal([500]);
    expect(run.isUnhurried()).to.equal(false);
  });

  it('asks ten times a second while somebody waits, and rests again when nobody does', async () => {
    const run = work();
    run.await(true);
    for (let part = 0; part < 201; part++) await run.part(5);
    expect(run.asked()).to.equal(11);
    run.await(false);
    await run.part(100);
    expect([run.isUnhurried(), run.rests]).to.deep.equal([true, [500]]);
  });

  it('rests as long as it works after a quarter of an hour, so that it reaches the end of a log that grows', async () => {
    const run = work();
    for (let part = 0; part < 752; part++) await run.part(200);
    expect(run.rests.slice(748, 752)).to.deep.equal([1_000, 1_000, 200, 200]);
  });

  it('never rests for so long that its transaction would be ended', async () => {
    const run = work();
    await run.part(6_000);
    expect(run.rests).to.deep.equal([10_000]);
  });

  it('is woken by its signal', async () => {
    const { rest } = createPace({ isAwaited: async () => false });
    const failure = await rest(AbortSignal.abort()).catch((error: unknown) => error);
    expect(failure).to.have.property('name', 'AbortError');
  });
});
