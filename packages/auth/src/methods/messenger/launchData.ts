/**
 * The launch data of a messenger's mini app: a query string that the platform signs for the app's bot. Source:
 * contract, Sign-in and sessions.
 */
import { z } from 'zod';
import type { VerifiedIdentity } from '../../types.ts';
import { reject } from '../errors.ts';
import { isProved, type LaunchProof } from './launchProof.ts';

/** Longer than any messenger produces. */
export const MAX_LAUNCH_DATA_LENGTH = 4_096;
const MAX_AHEAD_SECONDS = 60;

export interface LaunchDataCheck {
  readonly proof: LaunchProof;
  readonly maxAgeSeconds: number;
  readonly now: Date;
}

export interface VerifiedLaunch {
  readonly identity: VerifiedIdentity;
  /** The payload of the deep link. */
  readonly startParam: string | undefined;
}

/** Throws `auth/launch_data_invalid` for any defect. */
export function verifyLaunchData(initData: string, check: LaunchDataCheck): VerifiedLaunch {
  const fields = fieldsOf(initData);
  if (!fields || !isProved(fields, check.proof)) throw reject('auth/launch_data_invalid');
  if (!isFresh(fields.get('auth_date'), check)) throw reject('auth/launch_data_invalid');
  const identity = identityOf(fields.get('user'));
  if (!identity) throw reject('auth/launch_data_invalid');

  return { identity, startParam: fields.get('start_param') };
}

/** Undefined if a key occurs twice, or a line break could make one field look like two. */
function fieldsOf(text: string): ReadonlyMap<string, string> | undefined {
  if (text.length > MAX_LAUNCH_DATA_LENGTH || !text.isWellFormed()) return undefined;
  const fields = new Map<string, string>();
  for (const pair of text.split('&')) {
    const [, rawKey = '', rawValue = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    const key = decode(rawKey);
    const value = decode(rawValue);
    if (!key || value === undefined || fields.has(key)) return undefined;
    if (/\n/.test(key + value) || key.includes('=')) return undefined;
    fields.set(key, value);
  }
  return fields;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

function isFresh(authDate: string | undefined, { now, maxAgeSeconds }: LaunchDataCheck): boolean {
  if (authDate === undefined || !/^[1-9]\d{0,11}$/.test(authDate)) return false;
  const ageSeconds = now.getTime() / 1000 - Number(authDate);
  return ageSeconds <= maxAgeSeconds && ageSeconds >= -MAX_AHEAD_SECONDS;
}

/** The platform may add fields; we keep only those that the specification names. */
const launchUser = z.object({
  // JSON parsing would change an id above 2^53.
  id: z.int().positive(),
  username: z.string().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  photo_url: z.string().optional(),
});

function identityOf(userJson: string | undefined): VerifiedIdentity | undefined {
  if (userJson === undefined) return undefined;
  const parsed = launchUser.safeParse(jsonOf(userJson));
  if (!parsed.success) return undefined;
  const { id, username, first_name, last_name, photo_url } = parsed.data;
  const profile = {
    ...(username && { username }),
    ...(first_name && { firstName: first_name }),
    ...(last_name && { lastName: last_name }),
    ...(photo_url && { photoUrl: photo_url }),
  };
  return { type: 'messenger', externalId: String(id), profile };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
