/**
 * The format of a refresh token: `rt_` and 68 bytes, of which the first 36 give the session, generation and expiry,
 * and the rest is an HMAC over them. Its key is derived from the installation's key and the session, so the database
 * holds nothing usable, and a made-up token costs no query.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const VERSION = 1;
const PREFIX = 'rt_';
const SESSION_PREFIX = 'sid_';
const SUFFIX_BYTES = 26;
const PAYLOAD_BYTES = 1 + SUFFIX_BYTES + 4 + 5;
const MIN_KEY_BYTES = 32;

/** 68 bytes in base64url. */
const FORM = /^rt_[A-Za-z0-9_-]{91}$/;

export interface RefreshToken {
  readonly sessionId: string;
  /** 0 for the sign-in's token, one more with every rotation. */
  readonly generation: number;
  /** Unix time, whole seconds. */
  readonly expiresAtSeconds: number;
}

export interface RefreshTokens {
  /** Always the same text for the same token. */
  readonly textOf: (token: RefreshToken) => string;
  /** Undefined for any text that we did not make. Does not check the expiry. */
  readonly read: (text: string) => RefreshToken | undefined;
}

/** The key must be kept: with another one, every player has to sign in again. */
export function createRefreshTokens(key: Uint8Array): RefreshTokens {
  if (key.length < MIN_KEY_BYTES) {
    throw new Error(
      `The key of refresh tokens must have ${MIN_KEY_BYTES} bytes; this one has ${key.length}.`,
    );
  }
  const textOf = (token: RefreshToken): string => {
    const payload = payloadOf(token);
    const familyKey = createHmac('sha256', key).update(`refresh family ${token.sessionId}`).digest();
    const mac = createHmac('sha256', familyKey).update(payload).digest();
    return PREFIX + Buffer.concat([payload, mac]).toString('base64url');
  };
  return {
    textOf,
    read: (text) => {
      if (!FORM.test(text)) return undefined;
      const token = tokenIn(Buffer.from(text.slice(PREFIX.length), 'base64url'));
      // Compared as text, so that a token has only one spelling.
      const isOurs = timingSafeEqual(Buffer.from(textOf(token)), Buffer.from(text));
      return isOurs ? token : undefined;
    },
  };
}

function payloadOf({ sessionId, generation, expiresAtSeconds }: RefreshToken): Buffer {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  payload.writeUInt8(VERSION, 0);
  payload.write(sessionId.slice(SESSION_PREFIX.length), 1, SUFFIX_BYTES, 'latin1');
  payload.writeUInt32BE(generation, 1 + SUFFIX_BYTES);
  payload.writeUIntBE(expiresAtSeconds, 1 + SUFFIX_BYTES + 4, 5);
  return payload;
}

function tokenIn(bytes: Buffer): RefreshToken {
  return {
    sessionId: SESSION_PREFIX + bytes.toString('latin1', 1, 1 + SUFFIX_BYTES),
    generation: bytes.readUInt32BE(1 + SUFFIX_BYTES),
    expiresAtSeconds: bytes.readUIntBE(1 + SUFFIX_BYTES + 4, 5),
  };
}
