/** Settings as stored: JSON, with the secret ones sealed to their place. */
import type { Queryable } from '@coffer/database';
import type { Environment, SecretBox } from '@coffer/kernel';
import type { AdminChange } from './adminActions.ts';
import {
  isSecret,
  isSettingKey,
  type SettingChange,
  type SettingKey,
  type SettingPlace,
  type SettingValues,
  settingKeys,
  settings,
  valuesIn,
} from './settings.ts';

/** What is stored for an app: JSON by `KEY`, `test.KEY`, `live.KEY`; secrets are still sealed. */
type StoredSettings = ReadonlyMap<string, unknown>;

const nameOf = (place: SettingPlace, key: SettingKey): string => (place === 'both' ? key : `${place}.${key}`);

const sealPlaceOf = (appId: string, place: SettingPlace, key: SettingKey): string =>
  JSON.stringify(['setting', appId, place, key]);

async function readStored(queryable: Queryable, appId: string): Promise<StoredSettings> {
  const { rows } = await queryable.query<{ environment: SettingPlace; key: string; value: unknown }>(
    'select environment, key, value from records.settings where app_id = $1',
    [appId],
  );
  const stored = new Map<string, unknown>();
  for (const { environment, key, value } of rows) {
    // A key from a newer release is not a setting of this one.
    if (isSettingKey(key)) stored.set(nameOf(environment, key), value);
  }
  return stored;
}

/** The effective values in each environment, with secrets opened. */
export async function loadSettings(
  queryable: Queryable,
  appId: string,
  secretBox: SecretBox,
): Promise<Readonly<Record<Environment, SettingValues>>> {
  const stored = await readStored(queryable, appId);
  const jsonAt = (place: SettingPlace, key: SettingKey): unknown => {
    const json = stored.get(nameOf(place, key));
    return json !== undefined && isSecret(key) ? secretBox.open(json, sealPlaceOf(appId, place, key)) : json;
  };
  return { test: valuesIn('test', jsonAt), live: valuesIn('live', jsonAt) };
}

export interface ShownSettings {
  /** The effective JSON in each environment; a secret shows only "set" or "not set". */
  readonly test: Readonly<Record<string, unknown>>;
  readonly live: Readonly<Record<string, unknown>>;
  /** The stored names; everything else has its default. */
  readonly stored: readonly string[];
}

export async function showSettings(queryable: Queryable, appId: string): Promise<ShownSettings> {
  const stored = await readStored(queryable, appId);
  const shown = (environment: Environment) =>
    Object.fromEntries(
      settingKeys.map((key) => {
        const json = stored.get(nameOf(environment, key)) ?? stored.get(key);
        if (isSecret(key)) return [key, json === undefined ? 'not set' : 'set'];
        return [key, json ?? settings[key].default ?? null];
      }),
    );
  return { test: shown('test'), live: shown('live'), stored: [...stored.keys()].sort() };
}

/** Setting the same again changes nothing. */
export async function storeSettings(
  change: AdminChange,
  appId: string,
  changes: readonly SettingChange[],
  secretBox: SecretBox,
): Promise<void> {
  for (const { key, place, json } of changes) {
    if (json === undefined) {
      await change.client.query(
        'delete from records.settings where app_id = $1 and environment = $2 and key = $3',
        [appId, place, key],
      );
      continue;
    }
    const value = isSecret(key) ? secretBox.seal(String(json), sealPlaceOf(appId, place, key)) : json;
    await change.client.query(
      `insert into records.settings (app_id, environment, key, value, updated_at) values ($1, $2, $3, $4, $5)
       on conflict (app_id, environment, key) do update
          set value = excluded.value, updated_at = excluded.updated_at`,
      [appId, place, key, JSON.stringify(value), change.at],
    );
  }
  // Names only: a value may be a secret.
  await change.record('settings.set', appId, {
    settings: changes.map(({ key, place }) => nameOf(place, key)),
  });
}
