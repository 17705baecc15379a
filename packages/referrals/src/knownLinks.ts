/**
 * What this process knows of links that are final: from a user straight to somebody further up, with nothing but final
 * links in between. It keeps the walks up long chains short, and can be lost at any time.
 */

/** A few megabytes. */
const MAX_USERS = 50_000;

export interface KnownLinks {
  /** Undefined if nothing is known. */
  readonly aboveOf: (stream: string) => string | undefined;
  /** All of them have this user above them. */
  readonly learn: (streams: readonly string[], userId: string) => void;
}

export function createKnownLinks(maxUsers = MAX_USERS): KnownLinks {
  const above = new Map<string, string>();
  return {
    aboveOf: (stream) => above.get(stream),
    learn(streams, userId) {
      for (const stream of streams) {
        // Whoever was met last is forgotten last.
        above.delete(stream);
        above.set(stream, userId);
      }
      for (const stream of above.keys()) {
        if (above.size <= maxUsers) return;
        above.delete(stream);
      }
    },
  };
}
