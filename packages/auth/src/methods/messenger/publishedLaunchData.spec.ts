/** Launch data published by others as examples, made by real bots and the real platform. */
import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import { verifyLaunchData } from './launchData.ts';
import { type LaunchProof, launchProofOf, platformKeysOf } from './launchProof.ts';

interface Vector {
  readonly name: string;
  readonly initData: string;
  readonly authDate: number;
  readonly proof: LaunchProof;
  readonly externalId: string;
  readonly startParam?: string;
  readonly profile: Readonly<Record<string, string>>;
}

/** Telegram-Mini-Apps/telegram-apps, packages/init-data-node/src/entries/node.test.ts, current version. */
const WITH_SIGNATURE = {
  initData:
    'user=%7B%22id%22%3A279058397%2C%22first_name%22%3A%22Vladislav%20%2B%20-%20%3F%20%5C%2F%22%2C%22last_name%22%3A%22Kibenko%22%2C%22username%22%3A%22vdkfrost%22%2C%22language_code%22%3A%22ru%22%2C%22is_premium%22%3Atrue%2C%22allows_write_to_pm%22%3Atrue%2C%22photo_url%22%3A%22https%3A%5C%2F%5C%2Ft.me%5C%2Fi%5C%2Fuserpic%5C%2F320%5C%2F4FPEE4tmP3ATHa57u6MqTDih13LTOiMoKoLDRG4PnSA.svg%22%7D&chat_instance=8134722200314281151&chat_type=private&auth_date=1733584787&signature=zL-ucjNyREiHDE8aihFwpfR9aggP2xiAo3NSpfe-p7IbCisNlDKlo7Kb6G4D0Ao2mBrSgEk4maLSdv6MLIlADQ&hash=2174df5b000556d044f3f020384e879c8efcab55ddea2ced4eb752e93e7080d6',
  authDate: 1_733_584_787,
  externalId: '279058397',
  profile: {
    username: 'vdkfrost',
    firstName: 'Vladislav + - ? /',
    lastName: 'Kibenko',
    photoUrl: 'https://t.me/i/userpic/320/4FPEE4tmP3ATHa57u6MqTDih13LTOiMoKoLDRG4PnSA.svg',
  },
};

/** For the first two. Its bot exists only for the examples. */
const TOKEN = '5768337691:AAH5YkoiEuPk8-FZa32hStHTqXiLPtAEhx8';

// Examples as their authors published them, including bot tokens.
const published: readonly Vector[] = [
  {
    // The same file, in its first version.
    name: 'every field',
    initData:
      'auth_date=1&can_send_after=10000&chat=%7B%22id%22%3A1%2C%22type%22%3A%22group%22%2C%22title%22%3A%22chat-title%22%2C%22photo_url%22%3A%22group%22%2C%22username%22%3A%22my-chat%22%7D&chat_instance=888&chat_type=sender&hash=47cfa22e72b887cba90c9cb833c5ea0f599975b6ce7193741844b5c4a4228b40&query_id=QUERY&receiver=%7B%22added_to_attachment_menu%22%3Afalse%2C%22allows_write_to_pm%22%3Atrue%2C%22first_name%22%3A%22receiver-first-name%22%2C%22id%22%3A991%2C%22is_bot%22%3Afalse%2C%22is_premium%22%3Atrue%2C%22language_code%22%3A%22ru%22%2C%22last_name%22%3A%22receiver-last-name%22%2C%22photo_url%22%3A%22receiver-photo%22%2C%22username%22%3A%22receiver-username%22%7D&start_param=debug&user=%7B%22added_to_attachment_menu%22%3Afalse%2C%22allows_write_to_pm%22%3Afalse%2C%22first_name%22%3A%22user-first-name%22%2C%22id%22%3A222%2C%22is_bot%22%3Atrue%2C%22is_premium%22%3Afalse%2C%22language_code%22%3A%22en%22%2C%22last_name%22%3A%22user-last-name%22%2C%22photo_url%22%3A%22user-photo%22%2C%22username%22%3A%22user-username%22%7D',
    authDate: 1,
    proof: { kind: 'botToken', botToken: TOKEN },
    externalId: '222',
    startParam: 'debug',
    profile: {
      username: 'user-username',
      firstName: 'user-first-name',
      lastName: 'user-last-name',
      photoUrl: 'user-photo',
    },
  },
  {
    // Telegram-Mini-Apps/telegram-apps, apps/docs/platform/init-data.md, from before there was a signature.
    name: 'no signature',
    initData:
      'query_id=AAHdF6IQAAAAAN0XohDhrOrc&user=%7B%22id%22%3A279058397%2C%22first_name%22%3A%22Vladislav%22%2C%22last_name%22%3A%22Kibenko%22%2C%22username%22%3A%22vdkfrost%22%2C%22language_code%22%3A%22ru%22%2C%22is_premium%22%3Atrue%7D&auth_date=1662771648&hash=c501b71e775f74ce10e377dea85a7ea24ecd640b223ea86dfe453e0eaed2e2b2',
    authDate: 1_662_771_648,
    proof: { kind: 'botToken', botToken: TOKEN },
    externalId: '279058397',
    profile: { username: 'vdkfrost', firstName: 'Vladislav', lastName: 'Kibenko' },
  },
  {
    name: 'a signature, by the token',
    ...WITH_SIGNATURE,
    proof: { kind: 'botToken', botToken: '7342037359:AAFZehRPBRs8Seg40oDjTMIW8uTGPuW1zfQ' },
  },
  {
    name: 'a signature, by the id of the bot',
    ...WITH_SIGNATURE,
    proof: { kind: 'botId', botId: '7342037359', platformKeys: platformKeysOf('live') },
  },
  {
    // swimmwatch/telegram-webapp-auth, tests/test_validate_third_party.py.
    name: 'another bot, by its id',
    initData:
      'query_id=AAH1t3EVAAAAAPW3cRVyuBgH&user=%7B%22id%22%3A359774197%2C%22first_name%22%3A%22Dmitry%22%2C%22last_name%22%3A%22Vasiliev%22%2C%22language_code%22%3A%22en%22%2C%22allows_write_to_pm%22%3Atrue%2C%22photo_url%22%3A%22https%3A%5C%2F%5C%2Ft.me%5C%2Fi%5C%2Fuserpic%5C%2F320%5C%2FaUkVEo2bVNr6G41sIB2bNwCdbkwnaVS79N41WHr_ApQ.svg%22%7D&auth_date=1736353840&signature=s72bv8J1hwJanbDqlo9TTMK6Uf4WSwQKuPKK_Q16QBhKD0hfOfoYCOpRl_d8m_8AEI1_oF-9WCJuwW1KQy5-BA&hash=c0b008672bf1edae403293e790eec42d047ac6613a5799e1939fac5eca41a397',
    authDate: 1_736_353_840,
    proof: { kind: 'botId', botId: '7544535829', platformKeys: platformKeysOf('live') },
    externalId: '359774197',
    profile: {
      firstName: 'Dmitry',
      lastName: 'Vasiliev',
      photoUrl: 'https://t.me/i/userpic/320/aUkVEo2bVNr6G41sIB2bNwCdbkwnaVS79N41WHr_ApQ.svg',
    },
  },
];

const verify = ({ authDate }: Vector, initData: string, proof: LaunchProof) =>
  verifyLaunchData(initData, { proof, maxAgeSeconds: 3_600, now: new Date((authDate + 10) * 1000) });

function refuses(vector: Vector, initData: string, proof = vector.proof): void {
  expect(() => verify(vector, initData, proof), initData)
    .to.throw(Rejection)
    .with.property('code', 'auth/launch_data_invalid');
}

for (const vector of published) {
  const { name, initData, proof, externalId, profile, startParam } = vector;
  const pairs = initData.split('&');
  const keyOf = (pair: string) => pair.slice(0, pair.indexOf('='));
  /** The platform's signature does not cover the hash: the two are independent proofs. */
  const isCovered = (pair: string) => proof.kind === 'botToken' || keyOf(pair) !== 'hash';

  describe(`published launch data with ${name}`, () => {
    it('is taken', () => {
      expect(verify(vector, initData, proof)).to.deep.equal({
        identity: { type: 'messenger', externalId, profile },
        startParam,
      });
    });

    it('is taken with its fields in any order', () => {
      expect(verify(vector, pairs.toReversed().join('&'), proof).identity.externalId).to.equal(externalId);
    });

    for (const pair of pairs) {
      const others = pairs.filter((other) => other !== pair);
      it(`is refused with ${keyOf(pair)} written twice`, () => {
        refuses(vector, [...pairs, pair].join('&'));
        refuses(vector, [...pairs, `${keyOf(pair)}=Z`].join('&'));
      });
      if (!isCovered(pair)) continue;
      it(`is refused with ${keyOf(pair)} altered, left out or named otherwise`, () => {
        refuses(vector, [...others, `${pair}1`].join('&'));
        refuses(vector, [...others, pair.replace(/=./, '=Z')].join('&'));
        refuses(vector, [...others, pair.slice(0, -1)].join('&'));
        refuses(vector, others.join('&'));
        refuses(vector, [...others, `X${pair}`].join('&'));
      });
    }

    it('is refused with a field added', () => refuses(vector, `${initData}&more=1`));

    it('is refused for another bot', () => {
      const other: LaunchProof =
        proof.kind === 'botToken'
          ? { ...proof, botToken: `${proof.botToken}A` }
          : { ...proof, botId: `${proof.botId}0` };
      refuses(vector, initData, other);
    });
  });
}

describe('the signature of the platform', () => {
  const byId = published.filter(({ proof }) => proof.kind === 'botId');

  it('is known in live and in test', () => {
    for (const vector of byId) {
      if (vector.proof.kind !== 'botId') throw new Error('Only of vectors with the id of a bot.');
      for (const environment of ['live', 'test'] as const) {
        const proof = { ...vector.proof, platformKeys: platformKeysOf(environment) };
        expect(verify(vector, vector.initData, proof).identity.externalId).to.equal(vector.externalId);
      }
    }
  });

  it('is by its production key only in live, and in test also by the key of its test installation', () => {
    const hex = (keys: readonly Uint8Array[]) => keys.map((key) => Buffer.from(key).toString('hex'));
    const production = 'e7bf03a2fa4602af4580703d88dda5bb59f32ed8b02a56c187fe7d34caed242d';
    const test = '40055058a4ee38156a06562e52eece92a771bcd8346a8c4615cb7376eddf72ec';
    expect(hex(platformKeysOf('live'))).to.deep.equal([production]);
    expect(hex(platformKeysOf('test'))).to.deep.equal([production, test]);
  });

  it('has one spelling: no padding, no other alphabet, no bits to spare', () => {
    for (const vector of byId) {
      const of = (change: (signature: string) => string) =>
        vector.initData.replace(/(?<=signature=)[^&]+/, change);
      // "Q" and "R", and "A" and "B", differ only in bits that are dropped in decoding.
      const next = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 1);
      refuses(
        vector,
        of((text) => `${text}%3D%3D`),
      );
      refuses(
        vector,
        of((text) => `${text}==`),
      );
      refuses(
        vector,
        of((text) => text.slice(0, -1) + next(text.slice(-1))),
      );
      refuses(
        vector,
        of((text) => text.replaceAll('-', '%2B').replaceAll('_', '%2F')),
      );
      refuses(
        vector,
        of((text) => `%20${text}`),
      );
    }
  });
});

describe('what proves launch data', () => {
  it('is the token where the app has one, else the id, else nothing', () => {
    const botToken = '1:a';
    const byId = { kind: 'botId', botId: '1', platformKeys: platformKeysOf('live') };
    expect(launchProofOf({ botToken, botId: '1' }, 'live')).to.deep.equal({ kind: 'botToken', botToken });
    expect(launchProofOf({ botToken: undefined, botId: '1' }, 'live')).to.deep.equal(byId);
    expect(launchProofOf({ botToken: undefined, botId: undefined }, 'live')).to.equal(undefined);
  });
});
