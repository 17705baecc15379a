/** What a first user reads is written before a process reports ready. Source: contract, Apps, keys, currencies. */
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { contexts } from './contexts.ts';
import type { Servers } from './servers.ts';
import { startContexts } from './testing/index.ts';

describe('a process that starts', () => {
  for (const { title, roles, addressOf } of [
    { title: 'the API', roles: undefined, addressOf: ({ url }: Servers) => url },
    {
      title: 'some roles without the API',
      roles: ['projector'] as const,
      addressOf: ({ systemUrl }: Servers) => systemUrl,
    },
  ]) {
    it(`is not ready before all of the start is done: ${title}`, async () => {
      const listening = Promise.withResolvers<Servers>();
      const written = Promise.withResolvers<void>();
      const starting = startContexts({
        contexts: contexts<object>(),
        given: {},
        config: { systemPort: 0 },
        ...(roles && { roles }),
        beforeReady(servers) {
          listening.resolve(servers);
          return written.promise;
        },
      });
      const url = addressOf(await listening.promise);
      try {
        const reasons = await eventually('nothing else is missing', async () => {
          const answer = await fetch(`${url}/readyz`);
          expect(answer.status).to.equal(503);
          const { details } = (await answer.json()) as { details: { reasons: string[] } };
          return details.reasons.length === 1 ? details.reasons : undefined;
        });
        expect(reasons).to.deep.equal(['The start is not done.']);

        written.resolve();
        await starting;
        await eventually('it is ready', async () => (await fetch(`${url}/readyz`)).ok || undefined);
      } finally {
        written.resolve();
        await (await starting).stop();
      }
    });
  }
});
