/** The sign-in methods assembled: the endpoints, and the mailer that runs next to them. */
import type { Pool } from '@coffer/database';
import type { Endpoint } from '@coffer/http';
import type { Clock, SecretBox } from '@coffer/kernel';
import { createCodes } from './email/codes.ts';
import { createEmailSignIn } from './email/email.ts';
import { createMailer, type MailerOptions } from './email/mailer.ts';
import { createOutbox } from './email/outbox.ts';
import type { MailTransport } from './email/transport.ts';
import { methodEndpoints, type SignIn } from './routes.ts';
import type { SettingsOf } from './settings.ts';
import { createChallenges } from './siws/challenges.ts';
import { createSiws, type OriginPolicy } from './siws/siws.ts';

export interface AuthMethodsOptions
  extends Pick<MailerOptions, 'onTrouble' | 'pollIntervalMs' | 'firstRetryMs'> {
  readonly pool: Pool;
  readonly clock: Clock;
  /** 32 bytes, the key for hashing codes and addresses. If it is lost, outstanding codes become worthless. */
  readonly secretsKey: Uint8Array;
  readonly secretBox: SecretBox;
  readonly settings: SettingsOf;
  readonly origins: OriginPolicy;
  /** Undefined: email sign-in is refused with `auth/method_not_allowed`. */
  readonly mail: MailTransport | undefined;
  readonly signIn: SignIn;
  /** The codes that `signIn` may throw, in addition to the common ones. */
  readonly signInErrors: readonly string[];
}

export interface AuthMethods {
  readonly endpoints: readonly Endpoint[];
  /** Starts sending mail. */
  readonly start: () => { readonly stop: () => Promise<void> };
}

export function createAuthMethods(options: AuthMethodsOptions): AuthMethods {
  const { pool, clock, mail: transport } = options;
  const outbox = createOutbox(pool, options.secretBox, clock);
  const mailer = transport && createMailer({ ...options, outbox, transport });
  const email =
    mailer &&
    createEmailSignIn({
      pool,
      codes: createCodes(options.secretsKey, clock),
      outbox,
      onQueued: mailer.nudge,
    });
  const siws = createSiws(createChallenges(pool, clock), options.origins);
  return {
    endpoints: methodEndpoints({ ...options, siws, email }),
    start: () => {
      mailer?.start();
      return { stop: async () => mailer?.stop() };
    },
  };
}
