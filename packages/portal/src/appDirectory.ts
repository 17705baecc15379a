/**
 * Apps, currencies and settings for serving requests: from memory if known. Apps and currencies never change, so
 * they are cached permanently; settings and absence are at most 900 ms old.
 */
import type { Pool } from '@coffer/database';
import { createCoalescingCache, type Environment, type SecretBox } from '@coffer/kernel';
import { type App, findApp } from './apps.ts';
import { type Currency, listCurrencies } from './currencies.ts';
import { loadSettings } from './settingRecords.ts';
import type { SettingKey, SettingValues } from './settings.ts';

const MAX_AGE_MS = 900;
const RENEW_AFTER_MS = 600;
const MAX_REMEMBERED_APPS = 10_000;

/** Usually awaited; returned at once if the answer is known. */
type MaybePromise<Value> = Value | Promise<Value>;

export interface AppDirectory {
  readonly app: (appId: string) => MaybePromise<App | undefined>;
  readonly currencies: (appId: string) => MaybePromise<readonly Currency[]>;
  readonly currencyByCode: (appId: string, code: string) => MaybePromise<Currency | undefined>;
  readonly currencyById: (appId: string, currencyId: number) => MaybePromise<Currency | undefined>;
  readonly setting: <Key extends SettingKey>(
    appId: string,
    environment: Environment,
    key: Key,
  ) => MaybePromise<SettingValues[Key]>;
  /** After a change in this process; other processes see it within 900 ms. */
  readonly forget: (appId: string) => void;
}

export interface AppDirectoryOptions {
  readonly secretBox: SecretBox;
  /** Measures the age of an answer; must be monotonic. Default: `performance.now`. */
  readonly nowMs?: () => number;
}

export function createAppDirectory(pool: Pool, options: AppDirectoryOptions): AppDirectory {
  const { secretBox, nowMs = () => performance.now() } = options;
  const cacheOf = <Value>(load: (appId: string) => Promise<Value>) =>
    createCoalescingCache({
      load,
      lifetimeMs: MAX_AGE_MS,
      renewAfterMs: RENEW_AFTER_MS,
      maximumEntries: MAX_REMEMBERED_APPS,
      nowMs,
    });

  const knownApps = new Map<string, App>();
  /** By app, then by code and by id. */
  const knownCurrencies = new Map<string, ReadonlyMap<string | number, Currency>>();

  const apps = cacheOf(async (appId) => {
    const app = await findApp(pool, appId);
    if (app) knownApps.set(appId, app);
    return app;
  });
  const currencies = cacheOf(async (appId) => {
    const all = await listCurrencies(pool, appId);
    if (all.length > 0) {
      const byEither = all.flatMap((one): [string | number, Currency][] => [
        [one.code, one],
        [one.id, one],
      ]);
      knownCurrencies.set(appId, new Map(byEither));
    }
    return all;
  });
  const settings = cacheOf((appId) => loadSettings(pool, appId, secretBox));

  const currencyWhere = (
    appId: string,
    codeOrId: string | number,
    isWanted: (one: Currency) => boolean,
  ): MaybePromise<Currency | undefined> => {
    const known = knownCurrencies.get(appId)?.get(codeOrId);
    if (known) return known;
    const all = currencies.get(appId);
    return all instanceof Promise ? all.then((found) => found.find(isWanted)) : all.find(isWanted);
  };

  return {
    app: (appId) => knownApps.get(appId) ?? apps.get(appId),
    currencies: (appId) => currencies.get(appId),
    currencyByCode: (appId, code) => currencyWhere(appId, code, (one) => one.code === code),
    currencyById: (appId, id) => currencyWhere(appId, id, (one) => one.id === id),
    setting: (appId, environment, key) => {
      const values = settings.get(appId);
      return values instanceof Promise
        ? values.then((found) => found[environment][key])
        : values[environment][key];
    },
    forget: (appId) => {
      apps.forget(appId);
      currencies.forget(appId);
      settings.forget(appId);
    },
  };
}
