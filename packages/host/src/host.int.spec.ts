/** Contexts in a process: what starts where and in which order, and how it stops. */
import type { Consumer, ConsumerStatus } from '@coffer/consumers';
import { endpoint } from '@coffer/http';
import { expect } from 'chai';
import { z } from 'zod';
import { type ContextParts, defineContext, type Worker } from './context.ts';
import { contexts } from './contexts.ts';
import type { Role } from './roles.ts';
import { startContexts } from './testing/index.ts';

const LIVE: Omit<ConsumerStatus, 'name'> = {
  state: 'live',
  position: undefined,
  caughtUpOnce: true,
  lagEvents: 0,
  lagSeconds: 0,
  reason: undefined,
  pending: undefined,
};

const contextWith = (name: string, parts: ContextParts<object>) =>
  defineContext({ name, create: () => parts });

describe('a host', () => {
  let steps: string[];
  beforeEach(() => {
    steps = [];
  });

  const worker = (name: string, role?: Role): Worker => ({
    ...(role && { role }),
    start() {
      steps.push(`start ${name}`);
      return { stop: async () => steps.push(`stop ${name}`) };
    },
  });
  const start = (workers: readonly Worker[], roles?: readonly Role[]) => {
    const [first, ...others] = workers;
    const list = contexts<object>()
      .with(contextWith('first', { workers: first ? [first] : [] }))
      .with(contextWith('others', { workers: others }));
    return startContexts({ contexts: list, given: {}, ...(roles && { roles }) });
  };

  it('starts workers in the order of the contexts, and stops them in the reverse order', async () => {
    const world = await start([worker('a'), worker('b'), worker('c')]);
    await world.stop();
    expect(steps).to.deep.equal(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
  });

  it('starts what has a role only in a process with that role', async () => {
    const workers = [worker('a'), worker('b', 'projector'), worker('c', 'reconciler')];
    const world = await start(workers, ['api', 'reconciler']);
    expect(steps).to.deep.equal(['start a', 'start c']);
    await world.stop();
  });

  it('stops what it has started when a later worker fails to start', async () => {
    const failing: Worker = { start: () => Promise.reject(new Error('No lease.')) };
    const failure = await start([worker('a'), worker('b'), failing, worker('c')]).catch(String);
    expect(failure).to.equal('Error: No lease.');
    expect(steps).to.deep.equal(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('is behind as long as one of its readers is', async () => {
    const behind = new Set<string>();
    const reader = (name: string): Consumer => ({
      status: () => ({ ...LIVE, name }),
      isBehind: () => behind.has(name),
      stop: async () => undefined,
    });
    const reads: Worker = {
      start: () => ({ consumers: [reader('a'), reader('b')], stop: async () => undefined }),
    };
    const list = contexts<object>().with(contextWith('reads', { workers: [reads] }));
    let isBehind = () => true;
    const world = await startContexts({
      contexts: list,
      given: {},
      async beforeReady(host) {
        isBehind = host.isBehind;
      },
    });
    try {
      expect(isBehind()).to.equal(false);
      behind.add('b');
      expect(isBehind()).to.equal(true);
    } finally {
      await world.stop();
    }
  });

  it('interrupts what requests wait for before its servers stop, and stops the worker after them', async () => {
    const interrupted = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const waits = endpoint({
      method: 'GET',
      path: '/waits',
      credential: 'operator',
      summary: 'Wait',
      success: { status: 200, schema: z.string() },
      errors: [],
      async handle() {
        asked.resolve();
        await interrupted.promise;
        return { status: 200, body: 'given up' };
      },
    });
    const waiting: Worker = {
      start: () => ({
        interrupt() {
          steps.push('interrupt');
          interrupted.resolve();
        },
        stop: async () => steps.push('stop'),
      }),
    };
    const list = contexts<object>().with(contextWith('waits', { endpoints: [waits], workers: [waiting] }));
    const world = await startContexts({ contexts: list, given: {} });
    const answering = world.client.get('/waits').then(({ text }) => steps.push(text));
    await asked.promise;
    await Promise.all([world.stop(), answering]);
    expect(steps).to.deep.equal(['interrupt', '"given up"', 'stop']);
  });
});
