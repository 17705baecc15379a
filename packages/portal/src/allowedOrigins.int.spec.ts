import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createAllowedOrigins, isLoopbackOrigin } from './allowedOrigins.ts';
import { createAppDirectory } from './appDirectory.ts';
import { storeSettings } from './settingRecords.ts';
import { parseSettingChange } from './settings.ts';
import { OPERATOR, type PortalWorld, portalTemplate, startPortalWorld } from './testing/index.ts';

const OURS = 'https://play.example';
const THEIRS = 'https://other.example';

describe('the allowed origins', () => {
  let world: PortalWorld;
  let nowMs = 0;
  const secretBox = createSecretBox(randomBytes(32));
  before(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
  });
  after(() => world.close());

  const setUp = (acceptsLoopback = false) => {
    const time = () => nowMs;
    const directory = createAppDirectory(world.pool, { secretBox, nowMs: time });
    return createAllowedOrigins(world.pool, { directory, acceptsLoopback, nowMs: time });
  };
  const newApp = async (values: Readonly<Record<string, unknown>>) => {
    const { appId } = await world.newApp();
    await allow(appId, values);
    return appId;
  };
  const allow = (appId: string, values: Readonly<Record<string, unknown>>) =>
    world.transaction(OPERATOR, (change) => {
      const changes = Object.entries(values).map(([name, value]) => parseSettingChange(name, value));
      return storeSettings(change, appId, changes, secretBox);
    });

  it('of an app are those it has set for the environment', async () => {
    const appId = await newApp({ allowedOrigins: [OURS], 'live.allowedOrigins': [THEIRS] });
    const origins = setUp();
    expect(await origins.ofApp({ appId, environment: 'test' }, OURS)).to.equal(true);
    expect(await origins.ofApp({ appId, environment: 'test' }, THEIRS)).to.equal(false);
    expect(await origins.ofApp({ appId, environment: 'live' }, OURS)).to.equal(false);
    expect(await origins.ofApp({ appId, environment: 'live' }, THEIRS)).to.equal(true);
  });

  it('of all apps together are the ones of each app', async () => {
    await newApp({ 'live.allowedOrigins': ['https://only-live.example'] });
    const origins = setUp();
    expect(await origins.ofAnyApp('https://only-live.example')).to.equal(true);
    expect(await origins.ofAnyApp('https://nobody.example')).to.equal(false);
  });

  it('are seen within a second of a change', async () => {
    const origins = setUp();
    const appId = await newApp({});
    const origin = 'https://later.example';
    const place = { appId, environment: 'test' } as const;
    expect(await origins.ofAnyApp(origin)).to.equal(false);
    expect(await origins.ofApp(place, origin)).to.equal(false);
    await allow(appId, { allowedOrigins: [origin] });
    nowMs += 900;
    expect(await origins.ofAnyApp(origin)).to.equal(true);
    expect(await origins.ofApp(place, origin)).to.equal(true);
  });

  it('include this machine on an installation for trying out', async () => {
    const place = { appId: await newApp({}), environment: 'test' } as const;
    for (const acceptsLoopback of [true, false]) {
      const origins = setUp(acceptsLoopback);
      expect(await origins.ofApp(place, 'http://localhost:3000')).to.equal(acceptsLoopback);
      expect(await origins.ofAnyApp('http://localhost:3000')).to.equal(acceptsLoopback);
    }
  });

  it('of this machine are told from those that only look like it', () => {
    for (const origin of [
      'http://localhost',
      'https://localhost:5173',
      'http://127.0.0.1:1',
      'http://[::1]:80',
    ]) {
      expect(isLoopbackOrigin(origin), origin).to.equal(true);
    }
    for (const origin of [
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://evil.example/localhost',
      'http://localhost@evil.example',
      'null',
      'file://localhost',
      'http://128.0.0.1',
      '',
    ]) {
      expect(isLoopbackOrigin(origin), origin).to.equal(false);
    }
  });
});
