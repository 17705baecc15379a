import { type Endpoint, endpoint } from '@coffer/http';
import { z } from 'zod';
import { type Currency, listCurrencies } from '../currencies.ts';
import { reject } from '../errors.ts';
import { showSettings, storeSettings } from '../settingRecords.ts';
import { parseSettingChange, type SettingChange } from '../settings.ts';
import type { PortalOptions } from './options.ts';
import { appOf } from './subject.ts';

const values = z.record(z.string(), z.unknown());
const settingsBody = z.object({ test: values, live: values, stored: z.array(z.string()) });

export const settingEndpoints = ({
  pool,
  directory,
  secretBox,
  transaction,
}: Pick<PortalOptions, 'pool' | 'directory' | 'secretBox' | 'transaction'>): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/settings',
    credential: 'operator',
    summary: 'Show the settings of an app',
    description:
      'What holds in each environment, and the names that are stored; the rest are defaults. A secret is "set" or "not set".',
    success: { status: 200, schema: settingsBody },
    errors: ['portal/app_not_found'],
    handle: async ({ params }) => {
      const { appId } = await appOf(directory, params.appId);
      return { status: 200, body: await showSettings(pool, appId) };
    },
  }),
  endpoint({
    method: 'POST',
    path: '/portal/app/:appId/settings',
    credential: 'operator',
    summary: 'Set settings of an app',
    description:
      'By name: KEY for both environments, test.KEY or live.KEY for one. A value is JSON, or the text a command line gives; null takes the stored value away. All of them are set, or none.',
    body: z.strictObject({
      settings: z
        .record(z.string(), z.json())
        .refine((given) => Object.keys(given).length > 0, {
          message: 'must name a setting',
        })
        .meta({ minProperties: 1, example: { 'test.siwsStatement': 'Sign in to play.' } }),
    }),
    success: { status: 200, schema: settingsBody },
    errors: ['portal/app_not_found', 'portal/unknown_setting', 'portal/invalid_setting'],
    handle: async ({ params, body, context }) => {
      const { appId } = await appOf(directory, params.appId);
      const changes = Object.entries(body.settings).map(([name, value]) => parseSettingChange(name, value));
      await transaction(context, async (change) => {
        requireFloorsOnChain(changes, await listCurrencies(change.client, appId));
        await storeSettings(change, appId, changes, secretBox);
      });
      directory.forget(appId);
      return { status: 200, body: await showSettings(pool, appId) };
    },
  }),
];

/** A floor that no wallet can ever reach would end all exports. Throws `portal/invalid_setting`. */
function requireFloorsOnChain(changes: readonly SettingChange[], currencies: readonly Currency[]): void {
  for (const { key, place, json } of changes) {
    if (key !== 'exportFloor' || json === undefined) continue;
    const isOnChain = ({ mint }: Currency) =>
      (place === 'both' ? (mint.test ?? mint.live) : mint[place]) !== null;
    const codes = new Set(currencies.filter(isOnChain).map(({ code }) => code));
    // It was parsed by the schema of the setting.
    const missing = Object.keys(json as Readonly<Record<string, unknown>>).filter((code) => !codes.has(code));
    if (missing.length === 0) continue;
    const issues = missing.map((path) => ({
      path,
      message: 'must be a currency of the app that is on the chain',
    }));
    throw reject('portal/invalid_setting', { setting: place === 'both' ? key : `${place}.${key}`, issues });
  }
}
