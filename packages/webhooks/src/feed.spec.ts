/** Who may wait at the feed, and until when. What it answers: feed.int.spec.ts. */
import type { Pool } from '@coffer/database';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { createFeed, type Reader } from './feed.ts';

const HOUR_MS = 3_600_000;
const EMPTY = { items: [], nextAfter: 7, hasMore: false };

function startFeed() {
  let polls = 0;
  const query = async (asked: unknown) => {
    // The other question is how far the events are pruned.
    if (typeof asked !== 'string') polls++;
    return { rows: [] };
  };
  // The feed uses nothing else from it.
  const feed = createFeed({ query } as unknown as Pool);
  const read = (reader: Partial<Reader> = {}, appId = 'app_1') =>
    feed.read(
      { appId, after: 7, limit: 10, waitMs: HOUR_MS },
      { signal: new AbortController().signal, mayWait: () => true, ...reader },
    );
  /** Once everybody who asked has had a look and waits. */
  const waiting = (readers: number) => until(() => polls >= 2 * readers);
  return { feed, read, waiting, polls: () => polls };
}

describe('waiting at the feed', () => {
  it('ends with the reader', async () => {
    const { read, waiting } = startFeed();
    const leaving = new AbortController();
    const reading = read({ signal: leaving.signal });
    await waiting(1);
    leaving.abort();
    expect(await reading).to.deep.equal(EMPTY);
  });

  it('does not begin for a reader who has left', async () => {
    const { read, polls } = startFeed();
    expect(await read({ signal: AbortSignal.abort() })).to.deep.equal(EMPTY);
    expect(polls()).to.equal(1);
  });

  it('ends for everybody when the service stops', async () => {
    const { feed, read, waiting } = startFeed();
    const reading = [read(), read({}, 'app_2')];
    await waiting(2);
    feed.close();
    expect(await Promise.all(reading)).to.deep.equal([EMPTY, EMPTY]);
    expect(await read()).to.deep.equal(EMPTY);
  });

  it('is for twenty readers of an app: one more has its answer at once, until another has left', async () => {
    const { feed, read, waiting } = startFeed();
    const first = new AbortController();
    const reading = Array.from({ length: 20 }, (_, index) =>
      read(index === 0 ? { signal: first.signal } : {}),
    );
    await waiting(20);
    expect(await read()).to.deep.equal(EMPTY);
    const ofAnother = read({}, 'app_2');
    first.abort();
    await reading[0];
    const inItsPlace = read();
    const settled = Symbol('settled');
    const outcomes = [ofAnother, inItsPlace].map((one) => one.then(() => settled));
    // It has its answer at once again: so the two before it wait.
    expect(await Promise.race([...outcomes, read()])).to.deep.equal(EMPTY);
    feed.close();
    await Promise.all([...reading, ofAnother, inItsPlace]);
  });

  it('is not for a request that may not wait', async () => {
    const { read, polls } = startFeed();
    expect(await read({ mayWait: () => false })).to.deep.equal(EMPTY);
    expect(polls()).to.equal(1);
  });
});
