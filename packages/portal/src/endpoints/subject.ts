/** The subject of an admin request: the app and environment in its path. */

import { type AppPlace, environment as environmentSchema } from '@coffer/kernel';
import type { AppDirectory } from '../appDirectory.ts';
import type { App } from '../apps.ts';
import type { Currency } from '../currencies.ts';
import { reject } from '../errors.ts';

/** Throws `portal/app_not_found`. */
export async function appOf(directory: AppDirectory, appId: string): Promise<App> {
  const app = await directory.app(appId);
  if (!app) throw reject('portal/app_not_found', { appId });
  return app;
}

/** The codes that `placeOf` throws. */
export const PLACE_ERRORS = ['portal/app_not_found', 'portal/environment_not_found'] as const;

/** Throws `portal/app_not_found`, `portal/environment_not_found`. */
export async function placeOf(
  directory: AppDirectory,
  params: { readonly appId: string; readonly environment: string },
): Promise<AppPlace> {
  const { appId, scopeId } = await appOf(directory, params.appId);
  const environment = environmentSchema.safeParse(params.environment);
  if (!environment.success) throw reject('portal/environment_not_found', { environment: params.environment });
  return { appId, scopeId, environment: environment.data };
}

/** Throws `portal/unknown_currency`. */
export async function currencyOf(directory: AppDirectory, appId: string, code: string): Promise<Currency> {
  const currency = await directory.currencyByCode(appId, code);
  if (!currency) throw reject('portal/unknown_currency', { currency: code });
  return currency;
}
