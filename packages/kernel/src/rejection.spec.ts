import { expect } from 'chai';
import { type ErrorCatalog, Rejection, rejecterFor } from './rejection.ts';

const errors = {
  'ledger/insufficient_balance': { status: 409, message: 'The bet exceeds the session balance.' },
} as const satisfies ErrorCatalog;

describe('a rejection', () => {
  const reject = rejecterFor(errors);

  it('carries its code and its details, with amounts as bigint', () => {
    const rejection = reject('ledger/insufficient_balance', { balance: 100n, amount: 150n });
    expect(rejection).to.be.instanceOf(Rejection).and.to.be.instanceOf(Error);
    expect(rejection.code).to.equal('ledger/insufficient_balance');
    expect(rejection.details).to.deep.equal({ balance: 100n, amount: 150n });
  });

  it('has empty details by default', () =>
    expect(reject('ledger/insufficient_balance').details).to.deep.equal({}));

  it('is told apart from other errors by its name, even across copies of the class', () => {
    expect(reject('ledger/insufficient_balance').name).to.equal('Rejection');
    expect(reject('ledger/insufficient_balance').message).to.equal('ledger/insufficient_balance');
  });
});
