/** The answers of sign-in, shared by its endpoints. Source: spec, Session and User. */
import { ADDRESS_SCHEMA, environment, idText } from '@coffer/kernel';
import { z } from 'zod';

const time = z.iso.datetime({ precision: 3 });

export const identityBody = z
  .strictObject({
    id: idText('idn'),
    type: z.enum(['wallet', 'messenger', 'email']),
    externalId: z.string(),
    profile: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Identity' });

export const walletBody = z
  .strictObject({
    id: idText('wlt'),
    address: z.string().meta(ADDRESS_SCHEMA),
    environment,
    custody: z.literal('operator'),
    status: z.enum(['active', 'exported', 'migrated']),
  })
  .meta({ id: 'WalletSummary' });

export const userBody = z
  .strictObject({
    id: idText('usr'),
    appId: idText('app'),
    primaryIdentity: identityBody,
    identities: z.array(identityBody),
    wallets: z.array(walletBody),
    createdAt: time,
  })
  .meta({ id: 'User' });

/** Answered by every sign-in and by refresh. */
export const sessionBody = z
  .strictObject({ accessToken: z.string(), refreshToken: z.string(), expiresAt: time, user: userBody })
  .meta({ id: 'Session' });

/** What can be asked of every session. */
export const SESSION_LINKS = {
  'POST /auth/refresh': { refreshToken: '$response.body#/refreshToken' },
  'POST /auth/logout': { refreshToken: '$response.body#/refreshToken' },
  'POST /sessions/verify': { sessionToken: '$response.body#/accessToken' },
  'GET /users/:userId/accounts': { userId: '$response.body#/user/id' },
} as const;

export const verificationBody = z
  .strictObject({
    userId: idText('usr'),
    appId: idText('app'),
    environment,
    authMethod: z.enum(['siws', 'messenger', 'email']),
    /** Null while the user has no active wallet. */
    walletAddress: z.string().nullable(),
    wallets: z.array(walletBody),
    identities: z.array(identityBody),
  })
  .meta({ id: 'VerificationResult' });
