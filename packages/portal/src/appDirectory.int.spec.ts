import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createAppDirectory } from './appDirectory.ts';
import type { Currency } from './currencies.ts';
import { showSettings, storeSettings } from './settingRecords.ts';
import { parseSettingChange } from './settings.ts';
import { OPERATOR, type PortalWorld, portalTemplate, startPortalWorld } from './testing/index.ts';

const CHIP: Currency = { id: 2, code: 'CHIP', decimals: 6, mint: { test: null, live: null } };

describe('the app directory', () => {
  let world: PortalWorld;
  const secretBox = createSecretBox(randomBytes(32));

  before(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
  });
  after(() => world.close());

  const setUp = () => {
    const time = { nowMs: 0 };
    return { time, directory: createAppDirectory(world.pool, { secretBox, nowMs: () => time.nowMs }) };
  };
  const set = (appId: string, values: Readonly<Record<string, unknown>>) =>
    world.transaction(OPERATOR, (change) => {
      const changes = Object.entries(values).map(([name, value]) => parseSettingChange(name, value));
      return storeSettings(change, appId, changes, secretBox);
    });

  it('keeps an app and a currency for good once it has seen them', async () => {
    const { directory, time } = setUp();
    const app = await world.newApp();
    await world.addCurrency(app.appId, CHIP);
    await directory.app(app.appId);
    await directory.currencyByCode(app.appId, 'CHIP');

    time.nowMs = 1_000_000;
    expect(directory.app(app.appId)).to.deep.equal(app);
    expect(directory.currencyByCode(app.appId, 'CHIP')).to.deep.equal(CHIP);
    expect(directory.currencyById(app.appId, 2)).to.deep.equal(CHIP);
  });

  it('finds within a second what was not there before', async () => {
    const { directory, time } = setUp();
    const app = await world.newApp();
    expect(await directory.currencyById(app.appId, 2)).to.equal(undefined);
    await world.addCurrency(app.appId, CHIP);

    time.nowMs = 899;
    expect(directory.currencyById(app.appId, 2)).to.equal(undefined);
    time.nowMs = 900;
    expect(await directory.currencyById(app.appId, 2)).to.deep.equal(CHIP);
  });

  it('finds at once what this process has changed', async () => {
    const { directory } = setUp();
    const app = await world.newApp();
    expect(await directory.currencyByCode(app.appId, 'CHIP')).to.equal(undefined);
    expect(await directory.setting(app.appId, 'test', 'poolEscrowEnabled')).to.equal(false);
    await world.addCurrency(app.appId, CHIP);
    await set(app.appId, { poolEscrowEnabled: true });

    directory.forget(app.appId);
    expect(await directory.currencyByCode(app.appId, 'CHIP')).to.deep.equal(CHIP);
    expect(await directory.setting(app.appId, 'test', 'poolEscrowEnabled')).to.equal(true);
  });

  it('knows no app by an id of another form', async () => {
    expect(await setUp().directory.app("app_'; drop table apps")).to.equal(undefined);
  });

  it('opens a bot token for its app, while the database holds and shows none', async () => {
    const { directory } = setUp();
    const app = await world.newApp();
    await set(app.appId, { botToken: '111:for-both', 'live.botToken': '222:for-live' });

    expect(await directory.setting(app.appId, 'test', 'botToken')).to.equal('111:for-both');
    expect(await directory.setting(app.appId, 'live', 'botToken')).to.equal('222:for-live');
    const { rows } = await world.pool.query(
      `select (select string_agg(s::text, '') from records.settings s)
              || (select string_agg(a::text, '') from records.admin_actions a) as text`,
    );
    expect(rows[0].text)
      .to.include('botToken')
      .and.not.match(/for-both|for-live/);
    const shown = await showSettings(world.pool, app.appId);
    expect(shown.test).to.include({ botToken: 'set', botId: null, siwsStatement: 'Sign in to play.' });
    expect(shown.stored).to.deep.equal(['botToken', 'live.botToken']);
  });

  it('opens no bot token that was copied to another app', async () => {
    const { directory } = setUp();
    const [owner, thief] = [await world.newApp(), await world.newApp()];
    await set(owner.appId, { botToken: '111:owner' });
    await world.pool.query(
      `insert into records.settings select $2, environment, key, value, updated_at
         from records.settings where app_id = $1`,
      [owner.appId, thief.appId],
    );

    const opened = await Promise.resolve(directory.setting(thief.appId, 'test', 'botToken')).catch(
      (error: Error) => error,
    );
    expect(opened).to.be.instanceOf(Error);
  });

  it('lets nobody change a currency, not even past the program', async () => {
    const app = await world.newApp();
    await world.addCurrency(app.appId, CHIP);
    const failure = await world.pool
      .query('update records.currencies set decimals = 7 where app_id = $1', [app.appId])
      .catch((error: Error) => error.message);
    expect(failure).to.equal('A currency is never changed or removed. Add another one.');
  });
});
