/** How long what lives. Source: contract, Sign-in and sessions. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const ACCESS_TOKEN_LIFETIME_MS = HOUR_MS;

/** Of one refresh token; each use gives a new one. */
export const REFRESH_TOKEN_LIFETIME_MS = 7 * DAY_MS;

/** From the sign-in on, however often refreshed. */
export const FAMILY_LIFETIME_MS = 30 * DAY_MS;

/** How long a refresh token works after its successor was first used: a client may have several requests under way. */
export const REFRESH_GRACE_MS = 30_000;

/** How long others may keep our public keys. */
export const JWKS_MAX_AGE_MS = 5 * MINUTE_MS;

/** A key is published for so long before it signs, so that nobody meets a token whose key they cannot have. */
export const STANDBY_MIN_AGE_MS = 2 * JWKS_MAX_AGE_MS;

/** A key is published for so long after it signed; some minutes more than a token lives, for clocks that differ. */
export const VERIFY_ONLY_MS = ACCESS_TOKEN_LIFETIME_MS + 5 * MINUTE_MS;

/**
 * How old an answer of ours may be about whether a session has ended or a key is withdrawn. With what else is
 * kept for a moment on the way (standing of the user), an end is seen everywhere in less than a second.
 */
export const MAX_STALENESS_MS = 400;
