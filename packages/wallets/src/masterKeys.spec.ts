import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  checkValueOf,
  createMasterKeys,
  MasterKeysFormatError,
  masterKeysText,
  newMasterKey,
  parseMasterKeys,
} from './masterKeys.ts';

const encoded = () => randomBytes(32).toString('base64');

describe('master keys', () => {
  it('are read with commas or white space between them, and written in a form that can be read', () => {
    const [test, live, next] = [encoded(), encoded(), encoded()];
    const keys = parseMasterKeys(`test:1:${test},live:1:${live}\n test:2:${next}\n`);
    expect(keys.map(({ environment, version }) => `${environment} ${version}`)).to.deep.equal([
      'test 1',
      'live 1',
      'test 2',
    ]);
    expect(keys.map(({ key }) => key.export().toString('base64'))).to.deep.equal([test, live, next]);
    expect(masterKeysText(keys)).to.equal(`test:1:${test}\nlive:1:${live}\ntest:2:${next}\n`);
  });

  const key = encoded();
  const refused: readonly [what: string, text: string, message: RegExp][] = [
    ['nothing', ' ,\n', /at least one/],
    ['another environment', `prod:1:${key}`, /entry 1 must be/],
    ['version 0', `test:0:${key}`, /entry 1 must be/],
    ['a version with a leading zero', `test:01:${key}`, /entry 1 must be/],
    ['a version beyond the last', `test:1000001:${key}`, /entry 1 must be/],
    ['31 bytes', `test:1:${encoded()},live:1:${randomBytes(31).toString('base64')}`, /entry 2 must be/],
    ['33 bytes', `test:1:${randomBytes(33).toString('base64')}`, /entry 1 must be/],
    ['no version', `test:${key}`, /entry 1 must be/],
    ['a version twice', `test:1:${key},test:1:${encoded()}`, /test 1 is there twice/],
    ['one key for test and live', `test:1:${key},live:1:${key}`, /test 1 and live 1 are the same key/],
    ['one key for two versions', `test:1:${key} test:2:${key}`, /test 1 and test 2 are the same key/],
  ];
  for (const [what, text, message] of refused) {
    it(`are refused with ${what}, in a message that repeats none of it`, () => {
      const attempt = () => parseMasterKeys(text);
      expect(attempt).to.throw(MasterKeysFormatError, message);
      expect(attempt).not.to.throw(new RegExp(key.slice(0, 12).replaceAll('+', '\\+')));
    });
  }

  it('are found by environment and version, the versions in order', () => {
    const first = newMasterKey('test', 10);
    const keys = createMasterKeys([first]);
    expect(keys.versionsOf('live')).to.deep.equal([]);
    keys.add(newMasterKey('test', 9));
    keys.add(newMasterKey('live', 1));
    expect(keys.versionsOf('test')).to.deep.equal([9, 10]);
    expect(keys.find('test', 10)).to.equal(first);
    expect(keys.find('live', 10)).to.equal(undefined);
  });

  it('are told apart by a check value, even one key under two names', () => {
    const one = newMasterKey('test', 1);
    const values = [
      one,
      newMasterKey('test', 1),
      { ...one, environment: 'live' as const },
      { ...one, version: 2 },
    ].map((given) => checkValueOf(given).toString('hex'));
    expect(new Set(values).size).to.equal(4);
    expect(checkValueOf({ ...one }).toString('hex')).to.equal(values[0]);
    expect(values.join()).not.to.include(one.key.export().toString('hex'));
  });

  it('do not show in inspection or JSON', () => {
    const one = newMasterKey('test', 1);
    const shown = `${inspect(createMasterKeys([one]).all(), { depth: 9, showHidden: true })} ${JSON.stringify(one)}`;
    for (const coding of ['hex', 'base64', 'base64url'] as const) {
      expect(shown).not.to.include(one.key.export().toString(coding));
    }
    expect(shown).not.to.include(one.key.export().join(','));
  });
});
