import { expect } from 'chai';
import fc from 'fast-check';
import { environment } from './environment.ts';
import { newId } from './identifiers.ts';
import { isOurStream, parseStreamName, streamName } from './streamName.ts';

const owner = 'app_01h455vb4pex5vsknk084sn02q';
const scope = 'scp_01h455vb4pex5vsknk084sn02q';
const SCOPED: readonly string[] = ['user', 'identity', 'wallet'];

describe('a stream name', () => {
  it('has a category, an environment, an owner and an id', () =>
    expect(streamName('account', 'test', owner, 'usr_1.2')).to.equal(`account-test.${owner}.usr_1.2`));

  it("parses back, whatever the caller's id is", () =>
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Za-z]{1,20}$/).filter((category) => !SCOPED.includes(category)),
        fc.constantFrom(...environment.options),
        fc.stringMatching(/^[A-Za-z0-9._:-]{1,64}$/),
        (category, world, id) => {
          const parts = { category, environment: world, owner, id };
          expect(parseStreamName(streamName(category, world, owner, id))).to.deep.equal(parts);
        },
      ),
    ));

  it('differs for the same id in the other environment or of another owner', () => {
    const names = [
      streamName('pool', 'test', owner, 'p'),
      streamName('pool', 'live', owner, 'p'),
      streamName('pool', 'test', newId('app'), 'p'),
    ];
    expect(new Set(names).size).to.equal(names.length);
  });

  it('parses to undefined for any other name', () => {
    for (const name of [
      '',
      '$stats',
      '$$account-test',
      'account',
      `account-prod.${owner}.1`,
      `account-test.${owner}`,
      `account-test.${owner}.`,
      'account-test.app_short.1',
      `account.test.${owner}.1`,
      `account-test.${owner.toUpperCase()}.1`,
      // Names that other users of a shared server may choose.
      'bank-1',
      'crm',
      'order-2',
      'account-live.bank.1',
      `$account-test.${owner}.1`,
      `$$account-test.${owner}.1`,
      `account-test.${owner}.1 `,
      `account-test.${owner}.1\n`,
      `account-test.${owner}.1\nx`,
      `account-test.${owner}.a/b`,
      `account-test.${owner}.ä`,
      ` account-test.${owner}.1`,
      `account_2-test.${owner}.1`,
      `Account test-test.${owner}.1`,
      `account-test.app_91h455vb4pex5vsknk084sn02q.1`,
      `account-test.app_01h455vb4pex5vsknk084sn02u.1`,
      `account-test.org_01h455vb4pex5vsknk084sn02q.1`,
      `-test.${owner}.1`,
    ]) {
      expect(parseStreamName(name), name).to.equal(undefined);
      expect(isOurStream(name), name).to.equal(false);
    }
  });

  it('has the kind of owner that its category requires; an unknown category may have either', () => {
    for (const category of ['account', 'playSession', 'operatorWallet']) {
      expect(isOurStream(`${category}-test.${owner}.1`), category).to.equal(true);
      expect(isOurStream(`${category}-test.${scope}.1`), category).to.equal(false);
    }
    for (const category of ['user', 'identity', 'wallet']) {
      expect(isOurStream(`${category}-test.${scope}.1`), category).to.equal(true);
      expect(isOurStream(`${category}-test.${owner}.1`), category).to.equal(false);
    }
    for (const category of ['move', 'aCategoryOfALaterRelease', 'constructor']) {
      expect(isOurStream(`${category}-test.${owner}.1`), category).to.equal(true);
      expect(isOurStream(`${category}-test.${scope}.1`), category).to.equal(true);
    }
  });
});
