import { NewerDatabaseError } from '@coffer/database';
import { StoreAbsentError, StoreRefusedError, StoreUnreachableError } from '@coffer/event-store';
import { expect } from 'chai';
import { startFailure } from './startFailure.ts';

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });

describe('a start that cannot work', () => {
  it('names the server that is away: the database, also where the log is in it', () => {
    const cause = refused;
    for (const error of [refused, new StoreUnreachableError('The event store cannot be read.', { cause })]) {
      const failure = startFailure(error);
      expect(failure?.message).to.match(/^The database cannot be reached: connect ECONNREFUSED/);
      expect(failure?.message).to.include('DATABASE_URL').and.not.to.include('EVENTSTORE_URL');
      expect(failure?.exitCode).to.equal(1);
    }
  });

  it('names the server that is away: the log, where it is a server of its own', () => {
    const failure = startFailure(new StoreAbsentError('No node leads (one:2113: it is away).'));
    expect(failure?.message).to.match(/^The log cannot be reached: No node leads/);
    expect(failure?.message).to.include('EVENTSTORE_URL').and.not.to.include('DATABASE_URL');
  });

  it('says what is missing where the log refuses its user, and how to look further', () => {
    const failure = startFailure(new StoreRefusedError('The log refuses its user: it may not read $all.'));
    expect(failure?.message).to.match(/^The log refuses its user/);
    expect(failure?.message).to.include('coffer log check').and.not.to.include('cannot be reached');
  });

  it('says that the disk is full, also where PostgreSQL has met it', () => {
    for (const code of ['ENOSPC', '53100']) {
      const failure = startFailure(Object.assign(new Error('no space left on device'), { code }));
      expect(failure?.message).to.match(/^The disk is full: no space left on device/);
      expect(failure?.exitCode).to.equal(1);
    }
  });

  it('says that a later release has migrated the database', () => {
    const failure = startFailure(new NewerDatabaseError('The database was migrated by a later release.'));
    expect(failure).to.include({ message: 'The database was migrated by a later release.', exitCode: 1 });
  });
});
