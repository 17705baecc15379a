import { expect } from 'chai';
import fc from 'fast-check';
import { environment } from './environment.ts';
import { newId } from './identifiers.ts';
import { parseStreamName, streamName } from './streamName.ts';

const owner = 'app_01h455vb4pex5vsknk084sn02q';

describe('a stream name', () => {
  it('says category, environment, owner and id', () =>
    expect(streamName('account', 'test', owner, 'usr_1.2')).to.equal(`account-test.${owner}.usr_1.2`));

  it("is read back, whatever the caller's id is", () =>
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Za-z]{1,20}$/),
        fc.constantFrom(...environment.options),
        fc.stringMatching(/^[A-Za-z0-9._:-]{1,64}$/),
        (category, world, id) => {
          const parts = { category, environment: world, owner, id };
          expect(parseStreamName(streamName(category, world, owner, id))).to.deep.equal(parts);
        },
      ),
    ));

  it('is never the name of the same id in the other environment or of another owner', () => {
    const names = [
      streamName('pool', 'test', owner, 'p'),
      streamName('pool', 'live', owner, 'p'),
      streamName('pool', 'test', newId('app'), 'p'),
    ];
    expect(new Set(names).size).to.equal(names.length);
  });

  it('is undefined for every other name', () => {
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
    ]) {
      expect(parseStreamName(name), name).to.equal(undefined);
    }
  });
});
