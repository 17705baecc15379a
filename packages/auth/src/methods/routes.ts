/** The group Auth, up to proving who signs in. Source: specification, Sign-in; contract, Sign-in and sessions. */
import type { CommandContext } from '@coffer/event-store';
import { type AppCaller, type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import type { AppPlace, Clock } from '@coffer/kernel';
import type { z } from 'zod';
import { SESSION_LINKS, sessionBody } from '../sessions/bodies.ts';
import type { AuthMethod, FirstTouch, VerifiedIdentity } from '../types.ts';
import type { EmailSignIn } from './email/email.ts';
import { verifyLaunchData } from './messenger/launchData.ts';
import { launchProofOf } from './messenger/launchProof.ts';
import * as schemas from './schemas.ts';
import { notAllowed, requireMethod, type SettingsOf } from './settings.ts';
import type { Siws } from './siws/siws.ts';

/** The answer to every sign-in. */
export type SessionBody = z.input<typeof sessionBody>;

/** From a proved identity to a sign-in session: finds or creates the user, and refuses a suspended one. */
export type SignIn = (
  place: AppPlace,
  identity: VerifiedIdentity,
  authMethod: AuthMethod,
  firstTouch: FirstTouch,
  context: CommandContext,
) => Promise<SessionBody>;

export interface MethodRouteDependencies {
  readonly signIn: SignIn;
  /** The codes that `signIn` may throw, in addition to the common ones. */
  readonly signInErrors: readonly string[];
  readonly settings: SettingsOf;
  readonly siws: Siws;
  /** Undefined: this installation cannot send mail. */
  readonly email: EmailSignIn | undefined;
  readonly clock: Clock;
}

/** Common to all of these endpoints. */
const SIGN_IN_STEP = { method: 'POST', credential: 'pk', rateLimit: 'signIn' } as const;

export function methodEndpoints(dependencies: MethodRouteDependencies): readonly Endpoint[] {
  const { siws, settings, clock, signInErrors } = dependencies;
  const admit = (method: AuthMethod) => async (caller: AppCaller) => {
    const found = await settings(caller);
    requireMethod(found, method);
    if (method === 'messenger' && !launchProofOf(found, caller.environment)) throw notAllowed(method);
    if (method === 'email' && !dependencies.email) throw notAllowed(method);
  };
  const signIn = async (
    { caller, context }: { readonly caller: AppCaller; readonly context: RequestContext },
    identity: VerifiedIdentity,
    method: AuthMethod,
    { referralCode, gameKey }: FirstTouch,
  ) => {
    const { requestId, actor, deadlineMs } = context;
    const metadata = { correlationId: requestId, actor, occurredAt: clock().toISOString() };
    const firstTouch = { referralCode, gameKey };
    const body = await dependencies.signIn(placeOf(caller), identity, method, firstTouch, {
      metadata,
      deadlineMs,
    });
    return { status: 200, body };
  };
  const emailOrReject = (): EmailSignIn => {
    if (!dependencies.email) throw notAllowed('email');
    return dependencies.email;
  };

  return [
    endpoint({
      ...SIGN_IN_STEP,
      path: '/auth/siws/challenge',
      summary: 'Issue a challenge for a Solana public key to sign',
      description:
        'Works once, for 5 minutes, for this key in this app and environment. Domain and uri are those of the request’s Origin where the app allows it, else of its first allowed origin.',
      body: schemas.challengeRequest,
      admit: admit('siws'),
      links: {
        'POST /auth/siws/verify': { challenge: '$response.body', publicKey: '$request.body#/publicKey' },
      },
      success: { status: 200, schema: schemas.issuedChallenge },
      errors: ['auth/method_not_allowed'],
      handle: async ({ caller, body, context }) => {
        const found = await settings(caller);
        const origin = context.header('origin');
        return { status: 200, body: await siws.challenge(placeOf(caller), found, body.publicKey, origin) };
      },
    }),
    endpoint({
      ...SIGN_IN_STEP,
      path: '/auth/siws/verify',
      summary: 'Sign in with a signed challenge',
      description:
        'Takes the challenge as issued, with or without `message`. A try that fails uses the challenge up. The signature is over the text of the challenge, or over the envelope that a Ledger makes of it.',
      body: schemas.siwsVerifyRequest,
      anyText: true,
      admit: admit('siws'),
      links: SESSION_LINKS,
      success: { status: 200, schema: sessionBody },
      errors: [
        'auth/method_not_allowed',
        'auth/challenge_invalid',
        'auth/signature_invalid',
        ...signInErrors,
      ],
      handle: async (request) => {
        const { caller, body } = request;
        return signIn(request, await siws.verify(placeOf(caller), body), 'siws', body);
      },
    }),
    endpoint({
      ...SIGN_IN_STEP,
      path: '/auth/messenger/verify',
      summary: 'Sign in with the launch data of a messenger mini app',
      description:
        'May be repeated while the launch data is fresh. Its start parameter is the referral code where none is given. Checked with the setting botToken, or by the signature of the messenger itself where the app gives only botId.',
      body: schemas.messengerVerifyRequest,
      anyText: true,
      admit: admit('messenger'),
      links: SESSION_LINKS,
      success: { status: 200, schema: sessionBody },
      errors: ['auth/method_not_allowed', 'auth/launch_data_invalid', ...signInErrors],
      handle: async (request) => {
        const { caller, body } = request;
        const found = await settings(caller);
        const proof = launchProofOf(found, caller.environment);
        if (!proof) throw notAllowed('messenger');
        const { identity, startParam } = verifyLaunchData(body.initData, {
          proof,
          maxAgeSeconds: found.launchDataMaxAgeSeconds,
          now: clock(),
        });
        return signIn(request, identity, 'messenger', {
          referralCode: body.referralCode ?? schemas.possibleReferralCode(startParam),
          gameKey: body.gameKey,
        });
      },
    }),
    endpoint({
      ...SIGN_IN_STEP,
      path: '/auth/email/initiate',
      summary: 'Mail a one-time code of 6 digits',
      description:
        'Answers the same for every address, before the mail has gone. The code works once, for 5 minutes and 5 tries; a new one takes its place. One mail a minute and 5 an hour for an address.',
      body: schemas.emailInitiateRequest,
      admit: admit('email'),
      links: {
        'POST /auth/email/verify': { email: '$request.body#/email' },
      },
      success: { status: 200, schema: schemas.emailInitiated },
      errors: ['auth/method_not_allowed'],
      handle: async ({ caller, body }) => {
        const { appName } = await settings(caller);
        const { expiresAt } = await emailOrReject().initiate(placeOf(caller), appName, body.email);
        return { status: 200, body: { sent: true, expiresAt } };
      },
    }),
    endpoint({
      ...SIGN_IN_STEP,
      path: '/auth/email/verify',
      summary: 'Sign in with a mailed code',
      body: schemas.emailVerifyRequest,
      anyText: true,
      admit: admit('email'),
      links: SESSION_LINKS,
      success: { status: 200, schema: sessionBody },
      errors: ['auth/method_not_allowed', 'auth/code_invalid', ...signInErrors],
      handle: async (request) => {
        const { caller, body } = request;
        const identity = await emailOrReject().verify(placeOf(caller), body.email, body.code);
        return signIn(request, identity, 'email', body);
      },
    }),
  ];
}

const placeOf = ({ appId, scopeId, environment }: AppCaller): AppPlace => ({ appId, scopeId, environment });
