import { createHmac } from 'node:crypto';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, type MethodsWorld, startMethodsWorld } from '../testing.ts';

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

  it('is refused where the app does not allow it, or has no bot', async () => {
    const body = { initData: launchData() };
    world.set({ botToken: undefined });
    expect((await verify(body)).code).to.equal('auth/method_not_allowed');
    world.set({ botToken: BOT_TOKEN, allowedAuthMethods: ['siws'] });
    const { status, code } = await verify({});
    expect([status, code]).to.deep.equal([403, 'auth/method_not_allowed']);
    expect(world.signedIn).to.deep.equal([]);
  });

  it('does not log the data', async () => {
    await verify({ initData: `${launchData()}0` });
    expect(world.logLines.join('')).not.to.include('ada_of_spec');
  });
});
