import { LockLostError } from '@coffer/database';
import { StoreAbsentError } from '@coffer/event-store';
import { expect } from 'chai';
import { storeFailureOf } from './storeFailures.ts';

const failure = (code: string) => Object.assign(new Error('in the words of another'), { code });

describe('a failure below us', () => {
  it('is an absent part of the service where its address leads nowhere, or not to where it did', () => {
    const codes = [
      ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'],
      // Of a Unix socket: it is gone, or more wait to connect than it takes.
      ...['ENOENT', 'EAGAIN'],
      ...['08006', '25006', '28P01', '3D000', '53300', '57P03'],
    ];
    for (const code of codes) {
      expect(storeFailureOf(failure(code)), code).to.deep.equal({ code: 'service/unavailable' });
    }
    expect(storeFailureOf(new StoreAbsentError('No node leads.'))?.code).to.equal('service/unavailable');
    expect(storeFailureOf(new LockLostError('The connection was lost.'))?.code).to.equal(
      'service/unavailable',
    );
    for (const message of [
      'Connection terminated unexpectedly',
      'Client was closed and is not queryable',
      'Client has encountered a connection error and is not queryable',
      'timeout exceeded when trying to connect',
      'Query read timeout',
    ]) {
      expect(storeFailureOf(new Error(message))?.code, message).to.equal('service/unavailable');
    }
  });

  it('is a mistake of ours where nothing is absent', () => {
    for (const code of ['22P02', '23505', '42703', 'EACCES', 'ERR_INVALID_ARG_TYPE']) {
      expect(storeFailureOf(failure(code)), code).to.equal(undefined);
    }
    expect(storeFailureOf(new Error('No key signs in test.'))).to.equal(undefined);
  });
});
