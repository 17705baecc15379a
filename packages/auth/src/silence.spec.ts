/** What many callers share must not wait for ever for a connection that has gone silent. */
import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@coffer/kernel';
import { failureOf, startSilentDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { createPersonalData } from './identities/personalData.ts';
import { findSessions } from './sessions/refreshFamilyRecords.ts';

describe('a database that has gone silent', () => {
  it('is given up by who looks for sessions', async () => {
    await using database = await startSilentDatabase();
    expect((await failureOf(findSessions(database.pool, ['sid_1']))).message).to.equal('Query read timeout');
  });

  it('is given up by who reads personal data, and the next is asked over another connection', async () => {
    const database = await startSilentDatabase();
    const { read } = createPersonalData(database.pool, createSecretBox(randomBytes(32)));
    const owner = (userId: string) => ({ environment: 'test', scopeId: 'scp_1', userId }) as const;
    const first = failureOf(read(owner('usr_1')));
    // The look-ups of one turn are one question.
    await new Promise(setImmediate);
    const second = failureOf(read(owner('usr_2')));
    expect((await first).message).to.equal('Query read timeout');
    await until(() => database.connections() === 2);
    await database[Symbol.asyncDispose]();
    await second;
  });
});
