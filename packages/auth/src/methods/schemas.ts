/** Bodies of the sign-in endpoints. Source: specification, Sign-in; contract, Sign-in and sessions. */
import { ADDRESS_SCHEMA, boundedText, callerId } from '@coffer/kernel';
import { z } from 'zod';
import { emailAddress } from './email/address.ts';
import { MAX_LAUNCH_DATA_LENGTH } from './messenger/launchData.ts';
import { publicKeyBytes } from './siws/publicKey.ts';

const time = z.iso.datetime();
const shortText = boundedText(512);

const publicKey = z
  .string()
  .refine((text) => publicKeyBytes(text) !== undefined, 'must be an Ed25519 public key in base58')
  .meta(ADDRESS_SCHEMA);

/** The canonical base64 of 64 bytes. */
const signature = z
  .string()
  .regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/, 'must be the base64 of a signature of 64 bytes')
  .transform((text): Uint8Array => Buffer.from(text, 'base64'))
  .meta({ example: `${'A'.repeat(86)}==` });

const MAX_REFERRAL_CODE_LENGTH = 64;

/** A malformed code is ignored, like one that belongs to nobody. */
export function possibleReferralCode(text: string | undefined): string | undefined {
  if (text === undefined || text === '' || text.length > MAX_REFERRAL_CODE_LENGTH) return undefined;
  return text.isWellFormed() && !text.includes('\0') ? text : undefined;
}

const firstTouch = {
  referralCode: z.string().transform(possibleReferralCode).optional(),
  gameKey: callerId.optional(),
};

export const challengeRequest = z.strictObject({ publicKey });

const challengeFields = {
  nonce: shortText,
  domain: shortText,
  statement: shortText,
  uri: shortText,
  issuedAt: shortText,
  expiresAt: shortText,
};

export const issuedChallenge = z.strictObject({
  ...challengeFields,
  issuedAt: time,
  expiresAt: time,
  message: z.string(),
});

export const siwsVerifyRequest = z.strictObject({
  challenge: z.strictObject({ ...challengeFields, message: boundedText(4_096).optional() }),
  publicKey: shortText,
  signature,
  ...firstTouch,
});

export const messengerVerifyRequest = z.strictObject({
  initData: boundedText(MAX_LAUNCH_DATA_LENGTH),
  ...firstTouch,
});

export const emailInitiateRequest = z.strictObject({ email: emailAddress });
export const emailInitiated = z.strictObject({ sent: z.boolean(), expiresAt: time });

export const emailVerifyRequest = z.strictObject({
  email: emailAddress,
  code: z
    .string()
    .regex(/^\d{6}$/, 'must be six digits')
    .meta({ example: '123456' }),
  ...firstTouch,
});
