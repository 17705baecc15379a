/** What a first user is to read is written before the service calls itself ready. Source: contract, Apps, keys, currencies. */
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import type { Service } from './service.ts';
import { startWorld } from './testing/world.ts';

describe('a service that starts', () => {
  for (const { title, roles, addressOf } of [
    { title: 'the API', roles: undefined, addressOf: ({ url }: Service) => url },
    {
      title: 'some roles without the API',
      roles: ['projector'] as const,
      addressOf: ({ systemUrl }: Service) => systemUrl,
    },
  ]) {
    it(`is not ready before all of the start is done: ${title}`, async () => {
      const listening = Promise.withResolvers<Service>();
      const written = Promise.withResolvers<void>();
      const starting = startWorld({
        environment: { COFFER_SYSTEM_PORT: '0' },
        ...(roles && { roles }),
        beforeReady: (service) => {
          listening.resolve(service);
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
        expect((await fetch(`${url}/readyz`)).status).to.equal(200);
      } finally {
        written.resolve();
        await (await starting).stop();
      }
    });
  }
});
