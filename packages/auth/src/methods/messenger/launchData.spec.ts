import { createHash, createHmac } from 'node:crypto';
import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import { MAX_LAUNCH_DATA_LENGTH, verifyLaunchData } from './launchData.ts';

// Source: Telegram-Mini-Apps/telegram-apps, packages/init-data-node/src/entries/node.test.ts.
const PUBLISHED_TOKEN = '5768337691:AAH5YkoiEuPk8-FZa32hStHTqXiLPtAEhx8';
const PUBLISHED =
  'auth_date=1&can_send_after=10000&chat=%7B%22id%22%3A1%2C%22type%22%3A%22group%22%2C%22title%22%3A%22chat-title%22%2C%22photo_url%22%3A%22group%22%2C%22username%22%3A%22my-chat%22%7D&chat_instance=888&chat_type=sender&hash=47cfa22e72b887cba90c9cb833c5ea0f599975b6ce7193741844b5c4a4228b40&query_id=QUERY&receiver=%7B%22added_to_attachment_menu%22%3Afalse%2C%22allows_write_to_pm%22%3Atrue%2C%22first_name%22%3A%22receiver-first-name%22%2C%22id%22%3A991%2C%22is_bot%22%3Afalse%2C%22is_premium%22%3Atrue%2C%22language_code%22%3A%22ru%22%2C%22last_name%22%3A%22receiver-last-name%22%2C%22photo_url%22%3A%22receiver-photo%22%2C%22username%22%3A%22receiver-username%22%7D&start_param=debug&user=%7B%22added_to_attachment_menu%22%3Afalse%2C%22allows_write_to_pm%22%3Afalse%2C%22first_name%22%3A%22user-first-name%22%2C%22id%22%3A222%2C%22is_bot%22%3Atrue%2C%22is_premium%22%3Afalse%2C%22language_code%22%3A%22en%22%2C%22last_name%22%3A%22user-last-name%22%2C%22photo_url%22%3A%22user-photo%22%2C%22username%22%3A%22user-username%22%7D';

const BOT_TOKEN = '7000000001:AAspec-token-of-a-bot-that-never-was';
const AUTH_DATE = 1_772_366_400;
const atAge = (seconds: number) => new Date((AUTH_DATE + seconds) * 1000);
const ofUser = (user: unknown) => ({ ...FIELDS, user: JSON.stringify(user) });

const FIELDS: Readonly<Record<string, string>> = {
  auth_date: String(AUTH_DATE),
  query_id: 'AAE',
  start_param: 'friend-7',
  signature: 'kept-in-the-hash',
  user: JSON.stringify({
    id: 6_123_456_789,
    first_name: 'Änne + Söhne',
    last_name: 'B',
    username: 'aenne',
    photo_url: 'https:\\/\\/t.example\\/a.svg',
    language_code: 'de',
  }),
};

/** Launch data of our own, as the platform would make it. */
function launchData(fields: Readonly<Record<string, string>>, token = BOT_TOKEN): string {
  const checkString = Object.keys(fields)
    .sort()
    .map((key) => `${key}=${fields[key]}`)
    .join('\n');
  const secret = createHmac('sha256', 'WebAppData').update(token).digest();
  const hash = createHmac('sha256', secret).update(checkString).digest('hex');
  return new URLSearchParams({ ...fields, hash }).toString();
}

const verify = (initData: string, overrides: { readonly botToken?: string; readonly now?: Date } = {}) =>
  verifyLaunchData(initData, { botToken: BOT_TOKEN, maxAgeSeconds: 3_600, now: atAge(10), ...overrides });

function refuses(initData: string, overrides: Parameters<typeof verify>[1] = {}): void {
  expect(() => verify(initData, overrides))
    .to.throw(Rejection)
    .with.property('code', 'auth/launch_data_invalid');
}

describe('launch data of a messenger', () => {
  it('is taken as published', () => {
    expect(verify(PUBLISHED, { botToken: PUBLISHED_TOKEN, now: new Date(2_000) })).to.deep.equal({
      identity: {
        type: 'messenger',
        externalId: '222',
        profile: {
          username: 'user-username',
          firstName: 'user-first-name',
          lastName: 'user-last-name',
          photoUrl: 'user-photo',
        },
      },
      startParam: 'debug',
    });
  });

  it('is refused with any one field of the published altered, left out, added or written twice', () => {
    const check = { botToken: PUBLISHED_TOKEN, now: new Date(2_000) };
    for (const pair of PUBLISHED.split('&')) {
      const others = PUBLISHED.split('&').filter((other) => other !== pair);
      refuses([...others, `${pair}1`].join('&'), check);
      refuses([...others, pair.replace(/=./, '=Z')].join('&'), check);
      refuses(others.join('&'), check);
      refuses(`${PUBLISHED}&${pair}`, check);
    }
    refuses(`${PUBLISHED}&more=1`, check);
  });

  it('may have its fields in any order', () => {
    const shuffled = PUBLISHED.split('&').reverse().join('&');
    expect(verify(shuffled, { botToken: PUBLISHED_TOKEN, now: new Date(2_000) }).startParam).to.equal(
      'debug',
    );
  });

  it('is decoded: percent, plus, letters beyond ASCII; the newer signature belongs to what is hashed', () => {
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
    refuses(launchData(FIELDS, '7000000002:AAspec-token-of-another-bot'));
  });

  it('is not the data of a login widget, whose secret is another', () => {
    const checkString = `auth_date=${AUTH_DATE}\nuser=${FIELDS.user}`;
    const secret = createHash('sha256').update(BOT_TOKEN).digest();
    const hash = createHmac('sha256', secret).update(checkString).digest('hex');
    refuses(new URLSearchParams({ auth_date: String(AUTH_DATE), user: FIELDS.user ?? '', hash }).toString());
  });

  for (const [age, isTaken] of [
    [3_600, true],
    [3_601, false],
    [-60, true],
    [-61, false],
  ] as const) {
    it(`is ${isTaken ? 'taken' : 'refused'} at an age of ${age} seconds where 3600 are allowed`, () => {
      if (isTaken) expect(verify(launchData(FIELDS), { now: atAge(age) }).startParam).to.equal('friend-7');
      else refuses(launchData(FIELDS), { now: atAge(age) });
    });
  }

  for (const authDate of ['', '01', '-1', '1e9', `${AUTH_DATE}.5`, ` ${AUTH_DATE}`, '0x69a42d40']) {
    it(`is refused with the time "${authDate}", also when it is signed`, () => {
      refuses(launchData({ ...FIELDS, auth_date: authDate }));
    });
  }

  it('is refused without a user of a whole, exact id, also when it is signed', () => {
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

  it('is refused where a line break hides a field inside another, though the hash is the same', () => {
    const signed = new URLSearchParams(launchData(FIELDS));
    const hidden = new URLSearchParams(signed);
    hidden.delete('start_param');
    hidden.set('signature', `${signed.get('signature')}\nstart_param=${signed.get('start_param')}`);
    refuses(hidden.toString());
  });

  for (const hash of ['', 'zz', 'A'.repeat(64), '0'.repeat(64), '0'.repeat(63), `${'0'.repeat(64)}00`]) {
    it(`is refused with the hash "${hash.slice(0, 8)}" of ${hash.length} characters`, () => {
      refuses(launchData(FIELDS).replace(/hash=[0-9a-f]+/, `hash=${hash}`));
    });
  }

  it('is refused when it is no query string', () => {
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
