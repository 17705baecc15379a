/**
 * Which pages may call on behalf of an app: its setting `allowedOrigins`. A change takes effect within a second.
 * Source: contract, Common rules, CORS.
 */
import type { Pool } from '@coffer/database';
import type { AllowedOrigins } from '@coffer/http';
import { createCoalescingCache } from '@coffer/kernel';
import type { AppDirectory } from './appDirectory.ts';

const MAX_AGE_MS = 900;
const RENEW_AFTER_MS = 600;
const ALL = 'all';

export interface AllowedOriginsOptions {
  readonly directory: Pick<AppDirectory, 'setting'>;
  /** On a trial installation: pages served from this machine, on any port, may call every app. */
  readonly acceptsLoopback: boolean;
  /** Measures the age of an answer; must be monotonic. Default: `performance.now`. */
  readonly nowMs?: () => number;
}

export function createAllowedOrigins(pool: Pool, options: AllowedOriginsOptions): AllowedOrigins {
  const { directory, acceptsLoopback, nowMs = () => performance.now() } = options;
  // The origins of all apps together, so that made-up ones cost no query each.
  const union = createCoalescingCache({
    load: () => selectAllOrigins(pool),
    lifetimeMs: MAX_AGE_MS,
    renewAfterMs: RENEW_AFTER_MS,
    maximumEntries: 1,
    nowMs,
  });
  const isAccepted = (origin: string) => acceptsLoopback && isLoopbackOrigin(origin);

  return {
    ofApp: ({ appId, environment }, origin) => {
      if (isAccepted(origin)) return true;
      const allowed = directory.setting(appId, environment, 'allowedOrigins');
      return allowed instanceof Promise
        ? allowed.then((origins) => origins.includes(origin))
        : allowed.includes(origin);
    },
    ofAnyApp: (origin) => {
      if (isAccepted(origin)) return true;
      const all = union.get(ALL);
      return all instanceof Promise ? all.then((origins) => origins.has(origin)) : all.has(origin);
    },
  };
}

async function selectAllOrigins(pool: Pool): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ origin: string }>(
    `select distinct jsonb_array_elements_text(value) as origin from records.settings
      where key = 'allowedOrigins'`,
  );
  return new Set(rows.map(({ origin }) => origin));
}

/** `http://localhost:3000`, `https://127.0.0.1`, `http://[::1]:8080`: as a browser writes them, and nothing else. */
export function isLoopbackOrigin(origin: string): boolean {
  return /^https?:\/\/(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/.test(origin);
}
