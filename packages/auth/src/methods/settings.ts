/** What of an app's settings sign-in goes by, and who refuses a method by them. */
import type { AppPlace } from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { reject } from './errors.ts';

export interface MethodSettings {
  /** As players know it: it stands in the mail. */
  readonly appName: string;
  readonly allowedAuthMethods: readonly AuthMethod[];
  /** Origins such as `https://play.example`, the first one the app's own. */
  readonly allowedOrigins: readonly string[];
  readonly siwsStatement: string;
  /** The messenger is not configured where both are undefined. */
  readonly botToken: string | undefined;
  /** Enough without the token: the platform signs for anybody to check. */
  readonly botId: string | undefined;
  /** 60 s to 24 h. */
  readonly launchDataMaxAgeSeconds: number;
}

export type SettingsOf = (
  place: Pick<AppPlace, 'appId' | 'environment'>,
) => Promise<MethodSettings> | MethodSettings;

/** Throws `auth/method_not_allowed` unless the app has enabled the method. */
export function requireMethod(settings: MethodSettings, method: AuthMethod): void {
  if (!settings.allowedAuthMethods.includes(method)) throw notAllowed(method);
}

export const notAllowed = (method: AuthMethod) => reject('auth/method_not_allowed', { method });
