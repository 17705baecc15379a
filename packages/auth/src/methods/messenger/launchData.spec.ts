import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import { MAX_LAUNCH_DATA_LENGTH, verifyLaunchData } from './launchData.ts';
import type { LaunchProof } from './launchProof.ts';

const BOT_TOKEN = '7000000001:AAspec-token-of-a-bot-that-never-was';
const OTHER_TOKEN = '7000000002:AAspec-token-of-another-bot';
const platform = generateKeyPairSync('ed25519');
const platformKey = Buffer.from(platform.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');

const AUTH_DATE = 1_772_366_400;
const atAge = (seconds: number) => new Date((AUTH_DATE + seconds) * 1000);
const ofUser = (user: unknown) => ({ ...FIELDS, user: JSON.stringify(user) });

const FIELDS: Readonly<Record<string, string>> = {
  auth_date: String(AUTH_DATE),
  query_id: 'AAE',
  start_param: 'friend-7',
  user: JSON.stringify({
    id: 6_123_456_789,
    first_name: 'Änne + Söhne',
    last_name: 'B',
    username: 'aenne',
    photo_url: 'https:\\/\\/t.example\\/a.svg',
    language_code: 'de',
  }),
};

/** Launch data of our own, signed and hashed the way the platform does it for the bot. */
function launchData(fields: Readonly<Record<string, string>>, token = BOT_TOKEN): string {
  const message = `${token.split(':')[0]}:WebAppData\n${linesOf(fields)}`;
  const signature = sign(undefined, Buffer.from(message), platform.privateKey).toString('base64url');
  const signed = { ...fields, signature };
  const secret = createHmac('sha256', 'WebAppData').update(token).digest();
  const hash = createHmac('sha256', secret).update(linesOf(signed)).digest('hex');
  return new URLSearchParams({ ...signed, hash }).toString();
}

const linesOf = (fields: Readonly<Record<string, string>>): string =>
  Object.keys(fields)
    .sort()
    .map((key) => `${key}=${fields[key]}`)
    .join('\n');

const BY_TOKEN: LaunchProof = { kind: 'botToken', botToken: BOT_TOKEN };
const BY_ID: LaunchProof = { kind: 'botId', botId: '7000000001', platformKeys: [platformKey] };

const taking = (proof: LaunchProof) => {
  const verify = (initData: string, now = atAge(10)) =>
    verifyLaunchData(initData, { proof, maxAgeSeconds: 3_600, now });
  const refuses = (initData: string, now?: Date): void => {
    expect(() => verify(initData, now))
      .to.throw(Rejection)
      .with.property('code', 'auth/launch_data_invalid');
  };
  return { verify, refuses };
};

// `before` is the field whose line precedes that of `start_param` in the signed text.
for (const [by, proof, before] of [
  ['the token of the bot', BY_TOKEN, 'signature'],
  ['the id of the bot', BY_ID, 'query_id'],
] as const) {
  describe(`launch data of a messenger, checked with ${by}`, () => {
    const { verify, refuses } = taking(proof);

    it('is decoded: percent, plus, letters beyond ASCII', () => {
      expect(verify(launchData(FIELDS))).to.deep.equal({
        identity: {
          type: 'messenger',
          externalId: '6123456789',
          profile: {
            username: 'aenne',
            firstName: 'Änne + Söhne',
            lastName: 'B',
            photoUrl: 'https:\\/\\/t.example\\/a.svg',
          },
        },
        startParam: 'friend-7',
      });
    });

    it('is of this very bot', () => {
      refuses(launchData(FIELDS, OTHER_TOKEN));
    });

    for (const [age, isTaken] of [
      [3_600, true],
      [3_601, false],
      [-60, true],
      [-61, false],
    ] as const) {
      it(`is ${isTaken ? 'taken' : 'refused'} at an age of ${age} seconds where 3600 are allowed`, () => {
        if (isTaken) expect(verify(launchData(FIELDS), atAge(age)).startParam).to.equal('friend-7');
        else refuses(launchData(FIELDS), atAge(age));
      });
    }

    for (const authDate of ['', '01', '-1', '1e9', `${AUTH_DATE}.5`, ` ${AUTH_DATE}`, '0x69a42d40']) {
      it(`is refused with the time "${authDate}", even if it is signed`, () => {
        refuses(launchData({ ...FIELDS, auth_date: authDate }));
      });
    }

    it('is refused without a user whose id is whole and exact, even if it is signed', () => {
      const { user: _user, ...withoutUser } = FIELDS;
      refuses(launchData(withoutUser));
      refuses(launchData({ ...FIELDS, user: '{' }));
      refuses(launchData({ ...FIELDS, user: '{"id":9007199254740993}' }));
      for (const user of [{}, { id: '5' }, { id: 1.5 }, { id: 0 }, { id: -5 }, { id: null }, [], 5]) {
        refuses(launchData(ofUser(user)));
      }
    });

    it('has of the profile what there is', () => {
      expect(verify(launchData(ofUser({ id: 5 }))).identity.profile).to.deep.equal({});
    });

    it('is refused where a line break hides a field inside another, though what is signed is the same', () => {
      const signed = new URLSearchParams(launchData(FIELDS));
      const hidden = new URLSearchParams(signed);
      hidden.delete('start_param');
      hidden.set(before, `${signed.get(before)}\nstart_param=${signed.get('start_param')}`);
      refuses(hidden.toString());
    });

    it('is refused if it is not a query string', () => {
      for (const text of [
        '',
        '&',
        '=',
        'user',
        'a=%',
        '%ff=1',
        '=x',
        `a=${'b'.repeat(MAX_LAUNCH_DATA_LENGTH)}`,
      ]) {
        refuses(text);
      }
    });
  });
}

describe('launch data checked with the token of the bot', () => {
  const { refuses } = taking(BY_TOKEN);

  it('is not the data of a login widget, whose secret is another', () => {
    const checkString = `auth_date=${AUTH_DATE}\nuser=${FIELDS.user}`;
    const secret = createHash('sha256').update(BOT_TOKEN).digest();
    const hash = createHmac('sha256', secret).update(checkString).digest('hex');
    refuses(new URLSearchParams({ auth_date: String(AUTH_DATE), user: FIELDS.user ?? '', hash }).toString());
  });

  for (const hash of ['', 'zz', 'A'.repeat(64), '0'.repeat(64), '0'.repeat(63), `${'0'.repeat(64)}00`]) {
    it(`is refused with the hash "${hash.slice(0, 8)}" of ${hash.length} characters`, () => {
      refuses(launchData(FIELDS).replace(/hash=[0-9a-f]+/, `hash=${hash}`));
    });
  }
});

describe('launch data checked with the id of the bot', () => {
  const { verify, refuses } = taking(BY_ID);

  it('goes by the signature, whatever hash there is', () => {
    const altered = new URLSearchParams(launchData(FIELDS));
    altered.set('hash', '0');
    expect(verify(altered.toString()).startParam).to.equal('friend-7');
    altered.delete('hash');
    expect(verify(altered.toString()).startParam).to.equal('friend-7');
  });

  it('is signed by the platform, and by nobody else', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const message = Buffer.from(`7000000001:WebAppData\n${linesOf(FIELDS)}`);
    const signature = sign(undefined, message, privateKey).toString('base64url');
    refuses(new URLSearchParams({ ...FIELDS, signature }).toString());
  });

  it('may be signed by any of the keys of the platform', () => {
    const other = Buffer.alloc(32, 9);
    for (const platformKeys of [
      [other, platformKey],
      [platformKey, other],
    ]) {
      expect(taking({ ...BY_ID, platformKeys }).verify(launchData(FIELDS)).startParam).to.equal('friend-7');
    }
    taking({ ...BY_ID, platformKeys: [] }).refuses(launchData(FIELDS));
  });
});
