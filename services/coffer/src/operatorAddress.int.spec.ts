/** The log warns if other machines can reach operator routes. */
import { expect } from 'chai';
import { startWorld } from './testing/world.ts';

describe('the log of a start warns that others can reach operator routes', () => {
  for (const { where, environment, isTold } of [
    {
      where: 'does, where the service listens on every address',
      environment: { HOST: '0.0.0.0' },
      isTold: true,
    },
    {
      where: 'does not, where it listens on this machine alone',
      environment: { HOST: '127.0.0.1' },
      isTold: false,
    },
    {
      where: 'does not, where they have a port of their own on this machine',
      environment: { HOST: '0.0.0.0', COFFER_OPERATOR_PORT: '0' },
      isTold: false,
    },
  ]) {
    it(where, async () => {
      const world = await startWorld({ environment });
      try {
        expect(new URL(world.operatorUrl).port === new URL(world.url).port).to.equal(
          !('COFFER_OPERATOR_PORT' in environment),
        );
        const told = world.logLines.some((line) =>
          line.includes('others than this machine can reach the operator routes'),
        );
        expect(told).to.equal(isTold);
      } finally {
        await world.stop();
      }
    });
  }
});
