import { expect } from 'chai';
import pg from 'pg';
import { isDataError, isOwnMistake, isStatementError } from './failures.ts';

function failure(severity: string, code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('failed', 0, 'error'), { severity, code });
}

describe('a failure of Postgres', () => {
  for (const [severity, code, isSure] of [
    ['ERROR', '22021', true],
    ['FEHLER', '22021', true],
    ['ERROR', '23505', true],
    ['ERROR', '53100', true],
    ['FEHLER', '25006', true],
    ['FATAL', '57P01', false],
    ['ERROR', '57014', false],
    ['FATAL', '25P04', false],
    ['ERROR', '08006', false],
    ['PANIC', '53100', false],
    ['FATAL', '53300', false],
  ] as const) {
    it(`${severity} ${code} ${isSure ? 'says that nothing was written' : 'leaves the outcome unknown'}`, () => {
      expect(isStatementError(failure(severity, code))).to.equal(isSure);
    });
  }

  it('that does not come from the database leaves the outcome unknown', () => {
    expect(isStatementError(new Error('Connection terminated unexpectedly'))).to.equal(false);
  });

  it('is blamed on the data only if the database says so', () => {
    expect(isDataError(failure('ERROR', '54000'))).to.equal(true);
    expect(isDataError(failure('ERROR', '23514'))).to.equal(false);
  });

  it('is our own mistake when retrying cannot help', () => {
    expect(isOwnMistake(failure('ERROR', '42P01'))).to.equal(true);
    expect(isOwnMistake(failure('ERROR', '53200'))).to.equal(false);
    expect(isOwnMistake(new Error('Query read timeout'))).to.equal(false);
  });
});
