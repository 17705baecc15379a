import { createHmac } from 'node:crypto';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate } from '../../testing/authRecords.ts';
import { type MethodsWorld, startMethodsWorld } from '../../testing/methodsWorld.ts';

const BOT_TOKEN = '7000000001:AAspec-token-of-a-bot-that-never-was';

describe('sign-in with launch data over HTTP', () => {
  let world: MethodsWorld;
  beforeEach(async () => {
    world = await startMethodsWorld(await createTestDatabase(authTemplate));
  });
  afterEach(() => world.stop());

  function launchData(more: Readonly<Record<string, string>> = {}): string {
    const fields: Record<string, string> = {
      auth_date: String(world.now().getTime() / 1000),
      user: '{"id":42,"username":"ada_of_spec"}',
      ...more,
    };
    const lines = Object.keys(fields)
      .sort()
      .map((key) => `${key}=${fields[key]}`);
    const secret = createHmac('sha256', 'WebAppData').update(BOT_TOKEN).digest();
    const hash = createHmac('sha256', secret).update(lines.join('\n')).digest('hex');
    return new URLSearchParams({ ...fields, hash }).toString();
  }

  const verify = (body: unknown) => world.post('/auth/messenger/verify', body);

  it('signs in the messenger user, as often as the data is fresh', async () => {
    const initData = launchData();
    for (const _time of [1, 2]) expect((await verify({ initData })).status).to.equal(200);
    expect(world.signedIn.map(({ identity, method }) => ({ ...identity, method }))).to.deep.equal(
      Array(2).fill({
        type: 'messenger',
        externalId: '42',
        profile: { username: 'ada_of_spec' },
        method: 'messenger',
      }),
    );
    world.pass(3_601);
    expect((await verify({ initData })).code).to.equal('auth/launch_data_invalid');
  });

  it('goes by the age that the app allows', async () => {
    world.set({ launchDataMaxAgeSeconds: 60 });
    const initData = launchData();
    world.pass(61);
    const { status, code } = await verify({ initData });
    expect([status, code]).to.deep.equal([401, 'auth/launch_data_invalid']);
  });

  it('takes the start parameter as the referral code where none is given', async () => {
    const initData = launchData({ start_param: 'deep' });
    await verify({ initData });
    await verify({ initData, referralCode: 'given', gameKey: 'dice' });
    expect(world.signedIn.map(({ firstTouch }) => firstTouch)).to.deep.equal([
      { referralCode: 'deep', gameKey: undefined },
      { referralCode: 'given', gameKey: 'dice' },
    ]);
  });

  it('is answered like any other text where it is no Unicode text or has a NUL, and such a code is ignored', async () => {
    const initData = launchData({ start_param: 'deep\0' });
    for (const text of ['\0', '\ud83c', `${initData}\0`, `\ud83c${initData}`]) {
      expect((await verify({ initData: text })).code, JSON.stringify(text)).to.equal(
        'auth/launch_data_invalid',
      );
    }
    for (const referralCode of [undefined, 'a\0', '\udfb2']) {
      expect((await verify({ initData, referralCode })).status).to.equal(200);
    }
    expect(world.signedIn.map(({ firstTouch }) => firstTouch.referralCode)).to.deep.equal(
      Array(3).fill(undefined),
    );
  });

  it('is refused where the app does not allow it, or has no bot', async () => {
    const body = { initData: launchData() };
    world.set({ botToken: undefined });
    expect((await verify(body)).code).to.equal('auth/method_not_allowed');
    world.set({ botToken: BOT_TOKEN, allowedAuthMethods: ['siws'] });
    const { status, code } = await verify({});
    expect([status, code]).to.deep.equal([403, 'auth/method_not_allowed']);
    expect(world.signedIn).to.deep.equal([]);
  });

  describe('where the app gives the id of its bot', () => {
    // Published: Telegram-Mini-Apps/telegram-apps, packages/init-data-node/src/entries/node.test.ts.
    const signedByPlatform =
      'user=%7B%22id%22%3A279058397%2C%22first_name%22%3A%22Vladislav%20%2B%20-%20%3F%20%5C%2F%22%2C%22last_name%22%3A%22Kibenko%22%2C%22username%22%3A%22vdkfrost%22%2C%22language_code%22%3A%22ru%22%2C%22is_premium%22%3Atrue%2C%22allows_write_to_pm%22%3Atrue%2C%22photo_url%22%3A%22https%3A%5C%2F%5C%2Ft.me%5C%2Fi%5C%2Fuserpic%5C%2F320%5C%2F4FPEE4tmP3ATHa57u6MqTDih13LTOiMoKoLDRG4PnSA.svg%22%7D&chat_instance=8134722200314281151&chat_type=private&auth_date=1733584787&signature=zL-ucjNyREiHDE8aihFwpfR9aggP2xiAo3NSpfe-p7IbCisNlDKlo7Kb6G4D0Ao2mBrSgEk4maLSdv6MLIlADQ&hash=2174df5b000556d044f3f020384e879c8efcab55ddea2ced4eb752e93e7080d6';
    /** The example is old, and this world's clock only moves forward. */
    const ANY_AGE = { launchDataMaxAgeSeconds: 10 ** 9 };

    it('and no token, the signature of the messenger is enough, in both environments', async () => {
      world.set({ ...ANY_AGE, botToken: undefined, botId: '7342037359' });
      for (const key of ['pk_test_1', 'pk_live_1']) {
        const { status } = await world.post(
          '/auth/messenger/verify',
          { initData: signedByPlatform },
          { key },
        );
        expect(status).to.equal(200);
      }
      expect(world.signedIn.map(({ identity }) => identity.externalId)).to.deep.equal([
        '279058397',
        '279058397',
      ]);
      world.set({ botId: '7342037358' });
      expect((await verify({ initData: signedByPlatform })).code).to.equal('auth/launch_data_invalid');
      world.set({ botId: '7342037359', launchDataMaxAgeSeconds: 86_400 });
      expect((await verify({ initData: signedByPlatform })).code).to.equal('auth/launch_data_invalid');
    });

    it('and the token too, the token counts', async () => {
      world.set({ ...ANY_AGE, botId: '7342037359' });
      expect((await verify({ initData: signedByPlatform })).code).to.equal('auth/launch_data_invalid');
      expect((await verify({ initData: launchData() })).status).to.equal(200);
    });
  });

  it('does not log the data', async () => {
    await verify({ initData: `${launchData()}0` });
    expect(world.logLines.join('')).not.to.include('ada_of_spec');
  });
});
