import { failureOf, startSilentDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { createKeyLookup } from './keyLookup.ts';

describe('the look-up of keys', () => {
  it('gives up a connection that has gone silent, and asks for the next keys over another one', async () => {
    const database = await startSilentDatabase();
    const { find } = createKeyLookup(database.pool, {
      clock: () => new Date(),
      onWriteFailure: (error) => {
        throw error;
      },
    });
    const first = failureOf(find('a'));
    // While the first one is being asked for.
    const second = failureOf(find('b'));
    expect((await first).message).to.equal('Query read timeout');
    await until(() => database.connections() === 2);
    await database[Symbol.asyncDispose]();
    await second;
  });
});
