/** The sign-in methods, given what they need of this installation: its settings, its keys and its way to send mail. */
import { join } from 'node:path';
import {
  type AuthMethods,
  type AuthMethodsOptions,
  createAuthMethods,
  fileTransport,
  type MailTransport,
  smtpTransport,
} from '@coffer/auth';
import type { Logger } from '@coffer/http';
import type { AppDirectory } from '@coffer/portal';
import type { Config } from './config.ts';

export interface AuthMethodsDependencies
  extends Pick<
    AuthMethodsOptions,
    'pool' | 'clock' | 'secretsKey' | 'secretBox' | 'signIn' | 'signInErrors'
  > {
  readonly config: Pick<Config, 'smtpUrl' | 'mailFrom' | 'dataFolder' | 'databaseUrl'>;
  readonly directory: Pick<AppDirectory, 'app' | 'setting'>;
  readonly logger: Logger;
  /** Where this process serves, for an app without origins; undefined until it does. */
  readonly ownOrigin: () => string | undefined;
}

/** To be stopped before the pool ends: it sends mail beside its endpoints. */
export function authMethods(dependencies: AuthMethodsDependencies): AuthMethods {
  const { config, directory, logger, ownOrigin } = dependencies;
  const isEmbedded = config.databaseUrl === undefined;
  return createAuthMethods({
    ...dependencies,
    settings: async ({ appId, environment }) => {
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
    },
    origins: {
      allowsLoopback: isEmbedded,
      fallback: () => (isEmbedded ? ownOrigin() : undefined),
    },
    mail: mailTransport(config),
    onTrouble: (error) => logger.warn({ err: error }, 'mail is in trouble and will be tried again'),
  });
}

/** Undefined where codes would only be written to a machine that no player's mail comes from. */
function mailTransport({
  smtpUrl,
  mailFrom: from,
  dataFolder,
  databaseUrl,
}: AuthMethodsDependencies['config']): MailTransport | undefined {
  if (smtpUrl !== undefined) return smtpTransport({ url: smtpUrl, from });
  return databaseUrl === undefined ? fileTransport({ folder: join(dataFolder, 'mail'), from }) : undefined;
}
