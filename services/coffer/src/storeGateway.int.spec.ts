/** An embedded installation, read with a client of EventStoreDB. */

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withPool } from '@coffer/database';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { setUpApp } from '@coffer/host/testing';
import { createLogger } from '@coffer/http';
import { selfSignedCertificate } from '@coffer/store-gateway';
import { failureOf } from '@coffer/testing';
import { AccessDeniedError, EventStoreDBClient, jsonEvent, streamNameFilter } from '@eventstore/db-client';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { installationSecrets } from './installationSecrets.ts';
import { startFailure } from './startFailure.ts';
import { gatewayCertificatePath, gatewayUrl, startStoreGateway } from './storeGateway.ts';
import { GATEWAY_PASSWORD, startWorld, type World, type WorldOptions } from './testing/world.ts';

const PASSWORD = 'the password of a spec';

describe('the store gateway of the service', () => {
  let dataFolder: string;
  let world: World | undefined;
  let client: EventStoreDBClient;

  beforeEach(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), 'coffer-gateway-'));
  });
  afterEach(async () => {
    await client?.dispose();
    await world?.stop();
    world = undefined;
    await rm(dataFolder, { recursive: true });
  });

  const start = async (
    environment: Readonly<Record<string, string>>,
    { user = 'coffer', password = GATEWAY_PASSWORD } = {},
    options: Pick<WorldOptions, 'roles'> = {},
  ): Promise<World> => {
    const started = await startWorld({
      ...options,
      environment: { COFFER_DATA_DIR: dataFolder, COFFER_STORE_GATEWAY_PORT: '0', ...environment },
    });
    world = started;
    const userInfo = `${user}:${encodeURIComponent(password)}`;
    const trusted = encodeURIComponent(gatewayCertificatePath(dataFolder));
    client = EventStoreDBClient.connectionString(
      `esdb://${userInfo}@localhost:${started.storeGatewayPort}?tls=true&tlsCAFile=${trusted}`,
    );
    return started;
  };
  const append = () => client.appendToStream('spec-test.app.1', jsonEvent({ type: 'Spec', data: {} }));

  it('shows whoever has its password all that the service writes, and takes nothing from him', async () => {
    const { client: api } = await start({});
    const { test } = await setUpApp(api);
    const { userId } = await test.newSession('100');
    const types = new Set<string>();
    for await (const { event } of client.readAll()) if (event) types.add(event.type);
    expect([...types]).to.include('UserRegistered');
    const users = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['user-test.'] }) });
    for await (const { event } of users) {
      expect(event?.streamId).to.contain(userId);
      break;
    }
    expect(await failureOf(append())).to.be.instanceOf(AccessDeniedError);
  });

  it('takes appends where it is told to, from the user and the password that it is given', async () => {
    const variables = {
      COFFER_STORE_GATEWAY_WRITABLE: '1',
      COFFER_STORE_GATEWAY_USER: 'reports',
      COFFER_STORE_GATEWAY_PASSWORD: PASSWORD,
    };
    await start(variables, { user: 'reports', password: PASSWORD });
    expect((await append()).success).to.equal(true);
  });

  it('refuses the operator token', async () => {
    const { operatorToken, storeGatewayPort } = await start({ COFFER_STORE_GATEWAY_WRITABLE: '1' });
    await client.dispose();
    const trusted = encodeURIComponent(gatewayCertificatePath(dataFolder));
    client = EventStoreDBClient.connectionString(
      `esdb://coffer:${operatorToken}@localhost:${storeGatewayPort}?tls=true&tlsCAFile=${trusted}`,
    );
    expect(await failureOf(append())).to.be.instanceOf(AccessDeniedError);
  });

  it('reads over two connections of its own, however many read', async () => {
    const { databaseUrl } = await start({});
    const all = Array.from({ length: 50 }, async () => {
      for await (const _event of client.readAll());
    });
    await Promise.all(all);
    const connections = await withPool(databaseUrl, async (pool) => {
      const { rows } = await pool.query<{ name: string; connections: number }>(
        `select application_name as name, count(*)::int as connections from pg_stat_activity
         where datname = current_database() group by 1`,
      );
      return new Map(rows.map(({ name, connections }) => [name, connections]));
    });
    expect(connections.get('coffer-gateway-read')).to.be.within(1, 2);
    expect(connections.has('coffer-gateway-append'), 'appends go with all others').to.equal(false);
  });

  it('lets nobody in for a while from where ten wrong passwords came', async () => {
    const { storeGatewayPort } = await start({});
    await client.dispose();
    const clientWith = (password: string) => {
      const trusted = encodeURIComponent(gatewayCertificatePath(dataFolder));
      return EventStoreDBClient.connectionString(
        `esdb://coffer:${password}@localhost:${storeGatewayPort}?tls=true&tlsCAFile=${trusted}`,
      );
    };
    const guessing = clientWith('guess');
    const readOf = async (from: EventStoreDBClient) => {
      for await (const _event of from.readAll({ maxCount: 1 }));
    };
    for (let guess = 0; guess < 10; guess++) {
      expect(await failureOf(readOf(guessing))).to.be.instanceOf(AccessDeniedError);
    }
    await guessing.dispose();
    client = clientWith(GATEWAY_PASSWORD);
    expect(await failureOf(readOf(client))).to.match(/Too many wrong passwords came from this address/);
  });

  describe('its password', () => {
    const secretsOf = (variables: Readonly<Record<string, string>>) =>
      installationSecrets(configFrom({ COFFER_DATA_DIR: dataFolder, ...variables }));
    const path = () => join(dataFolder, 'store-gateway-password.json');

    it('is made once, for the service alone, where none is given; no log shows it', async () => {
      const first = await secretsOf({ COFFER_STORE_GATEWAY_PORT: '0' });
      expect(first.storeGatewayPassword).to.match(/^.{32}$/);
      expect(first.storeGatewayPassword).not.to.equal(first.operatorToken);
      expect(first.texts).to.include(first.storeGatewayPassword);
      expect(((await stat(path())).mode & 0o777).toString(8)).to.equal('600');
      const second = await secretsOf({ COFFER_STORE_GATEWAY_PORT: '0' });
      expect(second.storeGatewayPassword).to.equal(first.storeGatewayPassword);
    });

    it('is the one that is given, unless that is the operator token of the data folder', async () => {
      const given = { COFFER_STORE_GATEWAY_PORT: '0', COFFER_STORE_GATEWAY_PASSWORD: PASSWORD };
      const { storeGatewayPassword, operatorToken } = await secretsOf(given);
      expect(storeGatewayPassword).to.equal(PASSWORD);
      expect(await readdir(dataFolder)).not.to.include('store-gateway-password.json');
      const same = secretsOf({ ...given, COFFER_STORE_GATEWAY_PASSWORD: operatorToken });
      expect(await failureOf(same)).to.match(/COFFER_STORE_GATEWAY_PASSWORD: must differ from/);
    });

    it('stands in what a client on this machine connects with', () => {
      const urlOf = (variables: Readonly<Record<string, string>>) =>
        gatewayUrl(
          configFrom({ COFFER_DATA_DIR: '/data', COFFER_STORE_GATEWAY_PORT: '0', ...variables }),
          2113,
          'p@ss',
        );
      expect(urlOf({ COFFER_STORE_GATEWAY_HOST: '0.0.0.0' })).to.equal(
        'esdb://coffer:p%40ss@localhost:2113?tls=true&tlsCAFile=%2Fdata%2Fstore-gateway.crt',
      );
      expect(urlOf({ COFFER_STORE_GATEWAY_HOST: 'fd00::7' })).to.include('@[fd00::7]:2113?');
      expect(urlOf({ COFFER_STORE_GATEWAY_TLS: '0' })).to.equal('esdb://localhost:2113?tls=false');
    });
  });

  it('is served by a process of any role', async () => {
    await start({ COFFER_STORE_GATEWAY_WRITABLE: '1' }, {}, { roles: ['projector'] });
    expect((await append()).success).to.equal(true);
  });

  it('is not there unless it is asked for', async () => {
    world = await startWorld({ environment: { COFFER_DATA_DIR: dataFolder } });
    expect(world.storeGatewayPort).to.equal(undefined);
    expect(await readdir(dataFolder)).to.deep.equal([]);
  });

  it('keeps the service from starting where its port is taken, and says which', async () => {
    const { storeGatewayPort } = await start({});
    const second = startWorld({
      environment: { COFFER_DATA_DIR: dataFolder, COFFER_STORE_GATEWAY_PORT: `${storeGatewayPort}` },
    });
    const error = await failureOf(second);
    expect(startFailure(error)?.message).to.include(`port ${storeGatewayPort}`);
  });

  describe('its certificate', () => {
    const startAlone = async (variables: Readonly<Record<string, string>> = {}) => {
      const store = createMemoryEventStore();
      const environment = { COFFER_DATA_DIR: dataFolder, COFFER_STORE_GATEWAY_PORT: '0', ...variables };
      const gateway = await startStoreGateway({
        config: configFrom(environment),
        store,
        isBusy: () => false,
        storeGatewayPassword: PASSWORD,
        logger: createLogger({ level: 'silent' }),
      });
      await gateway?.stop();
      await store.close();
    };
    const shown = () => readFile(gatewayCertificatePath(dataFolder), 'utf8');
    const kept = () => join(dataFolder, 'store-gateway.pem');

    it('is made once, and its key is for the service alone', async () => {
      await startAlone();
      const first = await shown();
      expect(first)
        .to.match(/BEGIN CERTIFICATE/)
        .and.not.match(/PRIVATE/);
      expect(((await stat(kept())).mode & 0o777).toString(8)).to.equal('600');
      await startAlone();
      expect(await shown()).to.equal(first);
    });

    it('is made anew when it has ended', async () => {
      const longAgo = await selfSignedCertificate(['localhost'], new Date('2000-01-01'));
      await writeFile(kept(), longAgo.privateKey + longAgo.certificate);
      await startAlone();
      expect(await shown())
        .to.match(/BEGIN CERTIFICATE/)
        .and.not.equal(longAgo.certificate);
    });

    it('may be one that somebody else has put there', async () => {
      const other = await selfSignedCertificate(['example.org'], new Date());
      await writeFile(kept(), other.certificate + other.privateKey);
      await startAlone();
      expect(await shown()).to.equal(other.certificate);
    });

    it('is not needed in plain text, which is for loopback only', async () => {
      await startAlone({ COFFER_STORE_GATEWAY_TLS: '0' });
      expect(await readdir(dataFolder)).to.deep.equal([]);
      const open = { COFFER_STORE_GATEWAY_TLS: '0', COFFER_STORE_GATEWAY_HOST: '0.0.0.0' };
      expect(await failureOf(startAlone(open))).to.match(/COFFER_STORE_GATEWAY_HOST: must be a loopback/);
    });
  });
});
