/**
 * The settings of an app: their names, valid values and defaults. A value is given as JSON, or as the text of a
 * command line. Source: contract, Apps, keys, currencies.
 */
import { amount, type Environment, isBase58Address } from '@coffer/kernel';
import { z } from 'zod';
import { reject } from './errors.ts';
import { shareLinkTemplate } from './shareLinkTemplate.ts';

interface SettingDefinition<Value> {
  /** From the stored JSON to the value. */
  readonly schema: z.ZodType<Value, unknown>;
  /** What a new value must be, if that is more than what a stored one is. */
  readonly changeSchema?: z.ZodType<Value, unknown>;
  /** From the text of a command line to the JSON. */
  readonly fromText: (text: string) => unknown;
  readonly default: Value;
  /** Encrypted at rest and never shown. */
  readonly secret?: true;
}

const setting = <Value>(definition: SettingDefinition<Value>): SettingDefinition<Value> => definition;

const asList = (text: string): unknown => {
  if (text.startsWith('[')) return asJson(text);
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
};

/** Text that is not JSON stays text: the schema then says what it expects instead. */
const asJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
};
const asText = (text: string): unknown => text;

const isOrigin = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { origin, protocol } = new URL(text);
  return origin === text && (protocol === 'https:' || protocol === 'http:');
};

const origin = z
  .string()
  .refine(isOrigin, 'must be an origin such as "https://play.example", without a path or a final slash');
const address = z.string().refine(isBase58Address, 'must be a base58 address of 32 bytes');
const seconds = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum);
const currencyCode = z.string().regex(/^[A-Z][A-Z0-9_]{1,15}$/, 'must be a currency code');

const ONE_DAY_SECONDS = 86_400;

export const settings = {
  allowedAuthMethods: setting({
    schema: z.array(z.enum(['siws', 'messenger', 'email'])).max(3),
    fromText: asList,
    default: [],
  }),
  allowedOrigins: setting({ schema: z.array(origin).max(100), fromText: asList, default: [] }),
  poolEscrowEnabled: setting({ schema: z.boolean(), fromText: asJson, default: false }),
  serverSigningEnabled: setting({ schema: z.boolean(), fromText: asJson, default: false }),
  programAllowList: setting({ schema: z.array(address).max(100), fromText: asList, default: [] }),
  /** By currency code, in base units. */
  exportFloor: setting({ schema: z.record(currencyCode, amount), fromText: asJson, default: {} }),
  botToken: setting<string | undefined>({
    schema: z.string().regex(/^\S{1,256}$/, 'must be 1 to 256 characters without white space'),
    fromText: asText,
    default: undefined,
    secret: true,
  }),
  /** Sufficient without `botToken`: players then sign in by the messenger's own signature. */
  botId: setting<string | undefined>({
    schema: z.string().regex(/^[1-9]\d{0,18}$/, 'must be the digits before the colon of a bot token'),
    fromText: asText,
    default: undefined,
  }),
  siwsStatement: setting({
    schema: z
      .string()
      .regex(/^[\x20-\x7e]{1,200}$/, 'must be one line of 1 to 200 printable ASCII characters'),
    fromText: asText,
    default: 'Sign in to play.',
  }),
  /** The maximum age of a messenger's launch data. */
  launchDataMaxAgeSeconds: setting({
    schema: seconds(60, ONE_DAY_SECONDS),
    fromText: asJson,
    default: 3_600,
  }),
  /** By platform. */
  shareLinkTemplates: setting({
    schema: z.record(z.string(), z.string()),
    changeSchema: z.record(
      z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a platform name in lower case'),
      shareLinkTemplate,
    ),
    fromText: asJson,
    default: {},
  }),
  custodyLockTimeoutSeconds: setting({
    schema: seconds(60, 7 * ONE_DAY_SECONDS),
    fromText: asJson,
    default: 900,
  }),
  exportStepUpSeconds: setting({ schema: seconds(60, ONE_DAY_SECONDS), fromText: asJson, default: 900 }),
  withdrawStepUpSeconds: setting<number | 'off'>({
    schema: z.union([z.literal('off'), seconds(60, ONE_DAY_SECONDS)]),
    fromText: asJson,
    default: 'off',
  }),
  /** Token accounts of recipients, paid for by the app if the player's wallet has no SOL for one. */
  rentSponsorPerUserPerDay: setting({ schema: z.int().min(0).max(1_000), fromText: asJson, default: 2 }),
  rentSponsorPerAppPerDay: setting({ schema: z.int().min(0).max(100_000), fromText: asJson, default: 500 }),
} as const;

export type SettingKey = keyof typeof settings;

export type SettingValues = {
  readonly [Key in SettingKey]: (typeof settings)[Key] extends SettingDefinition<infer Value> ? Value : never;
};

export const isSettingKey = (text: string): text is SettingKey => Object.hasOwn(settings, text);

export const settingKeys = Object.keys(settings).filter(isSettingKey);

export const isSecret = (key: SettingKey): boolean => 'secret' in settings[key];

/** For both environments, or for one, which then takes precedence. */
export type SettingPlace = Environment | 'both';

export interface SettingChange {
  readonly key: SettingKey;
  readonly place: SettingPlace;
  /** Undefined removes the stored value. */
  readonly json: unknown;
}

/**
 * Reads `name` (`KEY`, `test.KEY` or `live.KEY`) and its new value: JSON, text as on a command line, or null to
 * remove the stored value. Throws `portal/unknown_setting`, `portal/invalid_setting`.
 */
export function parseSettingChange(name: string, value: unknown): SettingChange {
  const match = /^(?:(test|live)\.)?(.+)$/.exec(name);
  const key = match?.[2] ?? '';
  if (!isSettingKey(key)) throw reject('portal/unknown_setting', { setting: name, known: settingKeys });
  const place = match?.[1] === 'test' || match?.[1] === 'live' ? match[1] : 'both';
  if (value === null) return { key, place, json: undefined };

  const { fromText, ...definition } = settings[key];
  const schema = 'changeSchema' in definition ? definition.changeSchema : definition.schema;
  const json = typeof value === 'string' ? fromText(value) : value;
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
    throw reject('portal/invalid_setting', { setting: name, issues });
  }
  return { key, place, json };
}

/** The values in one environment, from what is stored: its own, otherwise the shared one, otherwise the default. */
export function valuesIn(
  environment: Environment,
  stored: (place: SettingPlace, key: SettingKey) => unknown,
): SettingValues {
  const chosen = (key: SettingKey): unknown => {
    const json = stored(environment, key) ?? stored('both', key);
    return json === undefined ? settings[key].default : settings[key].schema.parse(json);
  };
  // Each value was parsed by the schema of its own key, or is its default.
  return Object.fromEntries(settingKeys.map((key) => [key, chosen(key)])) as unknown as SettingValues;
}
