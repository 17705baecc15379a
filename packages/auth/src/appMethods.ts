/** The sign-in methods as each app has set them. */
import type { Platform } from '@coffer/host';
import type { AppDirectory } from '@coffer/portal';
import {
  type AuthMethods,
  type AuthMethodsOptions,
  createAuthMethods,
  type MailTransport,
  type SettingsOf,
} from './methods/index.ts';

export interface AppMethodsNeeds
  extends Pick<Platform, 'pool' | 'clock' | 'secretsKey' | 'secretBox' | 'logger' | 'ownOrigin'> {
  readonly directory: Pick<AppDirectory, 'app' | 'setting'>;
  /** Undefined: nobody signs in by email. */
  readonly mail: MailTransport | undefined;
  /** On a trial installation: pages served from this machine may ask for a signature. */
  readonly acceptsLoopback: boolean;
}

export const createAppMethods = (
  { directory, logger, ownOrigin, acceptsLoopback, ...needs }: AppMethodsNeeds,
  signIn: Pick<AuthMethodsOptions, 'signIn' | 'signInErrors'>,
): AuthMethods =>
  createAuthMethods({
    ...needs,
    ...signIn,
    settings: settingsOf(directory),
    origins: {
      allowsLoopback: acceptsLoopback,
      fallback: () => (acceptsLoopback ? ownOrigin() : undefined),
    },
    onTrouble: (error) => logger.warn({ err: error }, 'mail is in trouble and will be tried again'),
  });

function settingsOf(directory: AppMethodsNeeds['directory']): SettingsOf {
  return async ({ appId, environment }) => {
    const app = await directory.app(appId);
    return {
      appName: app?.name ?? 'your game',
      allowedAuthMethods: await directory.setting(appId, environment, 'allowedAuthMethods'),
      allowedOrigins: await directory.setting(appId, environment, 'allowedOrigins'),
      siwsStatement: await directory.setting(appId, environment, 'siwsStatement'),
      botToken: await directory.setting(appId, environment, 'botToken'),
      botId: await directory.setting(appId, environment, 'botId'),
      launchDataMaxAgeSeconds: await directory.setting(appId, environment, 'launchDataMaxAgeSeconds'),
    };
  };
}
