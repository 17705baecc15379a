/** Lifetimes. Source: contract, Sign-in and sessions. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const ACCESS_TOKEN_LIFETIME_MS = HOUR_MS;

/** Of one refresh token; each use issues a new one. */
export const REFRESH_TOKEN_LIFETIME_MS = 7 * DAY_MS;

/** From the sign-in, regardless of refreshes. */
export const FAMILY_LIFETIME_MS = 30 * DAY_MS;

/** How long a refresh token works after its successor is first used: a client may have several requests in flight. */
export const REFRESH_GRACE_MS = 30_000;

/** How long others may cache our public keys. */
export const JWKS_MAX_AGE_MS = 5 * MINUTE_MS;

/** How long a key is published before it signs, so that nobody sees a token whose key they cannot have. */
export const STANDBY_MIN_AGE_MS = 2 * JWKS_MAX_AGE_MS;

/** How long a key is published after it last signed: a token's life plus some minutes for differing clocks. */
export const VERIFY_ONLY_MS = ACCESS_TOKEN_LIFETIME_MS + 5 * MINUTE_MS;

/**
 * How old our knowledge may be of whether a session has ended or a key is withdrawn. Together with other short-lived
 * caches on the way (standing of the user), an end is seen everywhere in less than a second.
 */
export const MAX_STALENESS_MS = 400;
