/** Where a player's tokens are kept between calls. */

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Expiry of the access token, ISO 8601. */
  readonly expiresAt: string;
}

/** A port: memory, `localStorage`, the secure storage of a phone. */
export interface TokenStore {
  readonly load: () => Tokens | undefined | Promise<Tokens | undefined>;
  /** Undefined: forget them. */
  readonly save: (tokens: Tokens | undefined) => void | Promise<void>;
}

/** Tokens that live as long as the page. */
export function memoryTokenStore(): TokenStore {
  let kept: Tokens | undefined;
  return {
    load: () => kept,
    save: (tokens) => {
      kept = tokens;
    },
  };
}
