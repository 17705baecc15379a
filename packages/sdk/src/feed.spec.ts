import { until } from '@coffer/testing';
import { expect } from 'chai';
import type { AppEvent } from './index.ts';
import {
  answers,
  backendOf,
  failureOf,
  hangs,
  losesTheReply,
  refuses,
  rejectionOf,
  type Step,
} from './testing/scriptedService.ts';

const event = (sequence: number) => ({
  id: `evt_${sequence}`,
  type: 'user.suspended',
  createdAt: '2027-01-15T08:00:00.000Z',
  appId: 'app_1',
  environment: 'test',
  sequence,
  previousSequence: sequence === 1 ? null : sequence - 1,
  data: { id: 'usr_1', environment: 'test' },
});
const page = (...sequences: readonly number[]): Step =>
  answers({ items: sequences.map(event), nextAfter: sequences.at(-1) ?? 0, hasMore: false });

async function take(feed: AsyncIterable<AppEvent>, count: number): Promise<readonly number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of feed) {
    sequences.push(sequence);
    if (sequences.length === count) break;
  }
  return sequences;
}

describe('the feed of the backend client', () => {
  it('gives event after event, and asks on after the last one', async () => {
    const { client, sent } = backendOf([page(1, 2), page(3), page(4)]);
    expect(await take(client.webhooks.feed(), 4)).to.deep.equal([1, 2, 3, 4]);
    expect(sent.map(({ path }) => path)).to.deep.equal([
      '/v1/events?after=0&wait=25',
      '/v1/events?after=2&wait=25',
      '/v1/events?after=3&wait=25',
    ]);
  });

  it('begins after the event that the reader knows, with the types that it wants', async () => {
    const { client, sent } = backendOf([page(8)]);
    const options = { after: 7, types: ['user.suspended', 'deposit.received'], waitSeconds: 0 } as const;
    expect(await take(client.webhooks.feed(options), 1)).to.deep.equal([8]);
    expect(sent[0]?.path).to.equal('/v1/events?after=7&types=user.suspended%2Cdeposit.received&wait=0');
  });

  it('keeps its place where nothing came', async () => {
    const empty = answers({ items: [], nextAfter: 7, hasMore: false });
    const { client, sent } = backendOf([empty, page(8)]);
    expect(await take(client.webhooks.feed({ after: 7 }), 1)).to.deep.equal([8]);
    expect(sent.map(({ path }) => path)).to.deep.equal(Array(2).fill('/v1/events?after=7&wait=25'));
  });

  it('asks once a second of a service that has nothing, and no time to wait', async () => {
    const empty = answers({ items: [], nextAfter: 7, hasMore: false });
    const { client, timing } = backendOf([empty, empty, page(8), page(9)]);
    expect(await take(client.webhooks.feed({ after: 7 }), 2)).to.deep.equal([8, 9]);
    expect(timing.slept).to.deep.equal([1_000, 1_000]);
  });

  it('goes on where it was after the service was away for longer than a call', async () => {
    const away = [...Array(20).fill(losesTheReply), ...Array(20).fill(refuses(503, 'service/unavailable'))];
    const retry = { deadlineMs: 5_000, longestDelayMs: 2_000 };
    const { client, sent, timing } = backendOf([page(1), ...away, page(2)], retry);
    expect(await take(client.webhooks.feed({ waitSeconds: 1 }), 2)).to.deep.equal([1, 2]);
    expect(sent.slice(1).every(({ path }) => path === '/v1/events?after=1&wait=1')).to.equal(true);
    expect(Math.max(...timing.slept)).to.be.at.most(2_000);
    expect(timing.slept.every((delayMs) => delayMs > 0)).to.equal(true);
  });

  it('rejects with what the service refuses', async () => {
    const { client, sent } = backendOf([refuses(401, 'auth/invalid_key')]);
    expect(await failureOf(take(client.webhooks.feed(), 1))).to.include({ code: 'auth/invalid_key' });
    expect(sent).to.have.length(1);
  });

  it('ends with the reason of the signal, also while it waits', async () => {
    const stop = new AbortController();
    const { client, sent } = backendOf([page(1), hangs]);
    const feed = client.webhooks.feed({ signal: stop.signal });
    expect((await feed.next()).value).to.include({ sequence: 1 });
    const next = feed.next();
    await until(() => sent.length === 2);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await rejectionOf(next)).to.equal(reason);
  });
});
