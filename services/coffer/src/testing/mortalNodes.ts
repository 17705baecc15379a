/** For specs of players and of services that die: nodes on one database, and what it holds of a sign-in. */

import { allowSignIn, launchDataOf, newWallet } from '@coffer/auth/testing';
import type { Pool } from '@coffer/database';
import type { Role } from '@coffer/host';
import { type Client, createClient, setUpApp, type TestApp } from '@coffer/host/testing';
import { encodeBase58, type FailPointName } from '@coffer/kernel';
import { CofferError, createPlayerClient, type PlayerClient, type Session } from '@coffer/sdk';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { LogLine } from './books.ts';
import {
  OPERATOR_TOKEN,
  type ServiceProcess,
  type ServiceProcesses,
  type ServiceStart,
  serviceProcesses,
} from './serviceProcess.ts';
import { SPEC_MASTER_KEYS, serviceTemplate } from './world.ts';

/** The same identity each time. */
export type SignInAs = (page: PlayerClient) => Promise<Session>;

/** New ones. */
export const newcomers: Readonly<Record<'siws' | 'messenger', () => SignInAs>> = {
  siws: () => {
    const wallet = newWallet();
    return (page) => page.signInWithWallet(wallet);
  },
  messenger: () => {
    newcomersByMessenger += 1;
    const initData = launchDataOf({ id: newcomersByMessenger, username: `player${newcomersByMessenger}` });
    return (page) => page.messenger.verify({ initData });
  },
};
let newcomersByMessenger = 0;

export interface MortalNodes {
  readonly processes: ServiceProcesses;
  readonly pool: () => Pool;
  readonly databaseUrl: () => string;
  /** Serves until it reaches the fail point, if one is given, and dies there. */
  readonly start: (
    roles: readonly Role[],
    failPoint?: FailPointName,
    how?: Pick<ServiceStart, 'variables' | 'until'>,
  ) => Promise<ServiceProcess>;
  /** An app with a scope of its own, which players can sign in to. */
  readonly newApp: (service: ServiceProcess) => Promise<TestApp>;
  /** Of the scope, in the order of the log. */
  readonly events: (service: ServiceProcess, app: TestApp) => Promise<readonly LogLine[]>;
  /** The address for each key that is kept for a wallet of the scope. */
  readonly keptAddresses: (app: TestApp) => Promise<readonly string[]>;
}

/** Called in a `describe`: whatever it starts ends after the last test. */
export function useMortalNodes(): MortalNodes {
  const processes = serviceProcesses();
  let started: { readonly database: TestDatabase; readonly dataFolder: string };

  before(async () => {
    const database = await createTestDatabase(serviceTemplate);
    started = { database, dataFolder: await processes.newDataFolder() };
  });
  after(() => started.database.drop());

  return {
    processes,
    pool: () => started.database.pool,
    databaseUrl: () => started.database.connectionString,
    start: (roles, failPoint, { variables, until = 'listening' } = {}) =>
      processes.start({
        roles,
        variables: {
          DATABASE_URL: started.database.connectionString,
          COFFER_MASTER_KEYS: SPEC_MASTER_KEYS,
          COFFER_REACTION_GRACE_MS: '0',
          COFFER_SYSTEM_PORT: '0',
          ...(failPoint && { COFFER_FAIL_POINT: failPoint }),
          ...variables,
        },
        dataFolder: started.dataFolder,
        until,
      }),
    async newApp(service) {
      const client = clientOf(service);
      const app = await setUpApp(client);
      await allowSignIn(client, app.appId);
      return app;
    },
    events: async (service, { scopeId }) =>
      (await clientOf(service).lines('/portal/log')).filter(({ stream }) => String(stream).includes(scopeId)),
    async keptAddresses({ scopeId }) {
      const { rows } = await started.database.pool.query<{ public_key: Buffer }>(
        'select public_key from records.wallets_sealed_keys where owner_id = $1',
        [scopeId],
      );
      return rows.map(({ public_key: publicKey }) => encodeBase58(publicKey));
    },
  };
}

/** As the operator. */
export const clientOf = ({ url }: ServiceProcess): Client =>
  createClient({ baseUrl: `${url}/v1`, operatorToken: OPERATOR_TOKEN });

/** A game in a player's browser, in `test`. It does not retry, so that the effect of a lost answer is visible. */
export const pageAt = ({ url }: ServiceProcess, app: TestApp): PlayerClient =>
  createPlayerClient({
    baseUrl: `${url}/v1`,
    publishableKey: app.test.publishableKey,
    retry: { firstDelayMs: 60_000, longestDelayMs: 60_000 },
  });

export const typesOf = (events: readonly LogLine[]): readonly string[] =>
  events.map(({ type }) => String(type));

/** The code of the error that a call rejects with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CofferError) return error.code;
    throw error;
  }
  throw new Error('It was not refused.');
}

/** The service dies in the middle of the call, which gets no answer. */
export async function dieDuring(service: ServiceProcess, call: Promise<unknown>): Promise<void> {
  expect(await codeOf(call)).to.equal('sdk/no_answer');
  expect(await service.ended).to.include({ signal: 'SIGKILL' });
}
