/** The app settings that sign-in uses, and the check that a method is enabled. */
import type { AppPlace } from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { reject } from './errors.ts';

export interface MethodSettings {
  /** The app's name as players know it, used in mail. */
  readonly appName: string;
  readonly allowedAuthMethods: readonly AuthMethod[];
  /** Origins such as `https://play.example`; the first is the app's own. */
  readonly allowedOrigins: readonly string[];
  readonly siwsStatement: string;
  /** If both are undefined, the messenger is not configured. */
  readonly botToken: string | undefined;
  /** Sufficient without the token: anybody can verify the platform's signature. */
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
