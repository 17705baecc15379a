import { jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { expect } from 'chai';
import { openWorld } from './testTools.contract.ts';

describe('the store gateway', () => {
  it('gives back what a client has appended', async () => {
    const world = await openWorld();
    try {
      const event = jsonEvent({ type: 'Happened', data: { what: 'this' }, metadata: { who: 'that' } });
      const { nextExpectedRevision } = await world.client.appendToStream('spec-test.app.a', event, {
        expectedRevision: NO_STREAM,
      });
      expect(nextExpectedRevision).to.equal(0n);
      for await (const read of world.client.readStream('spec-test.app.a')) {
        const { contentType, ...sent } = event;
        expect(contentType).to.equal('application/json');
        expect(read.event).to.deep.include(sent);
      }
    } finally {
      await world.close();
    }
  });
});
