/** For `refreshKilled.e2e.spec.ts`: a process that refreshes each token it is sent, and can be killed. */
import { createPool } from '@coffer/database';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { createSessions } from '../sessions/sessions.ts';
import { createSigningKeys } from '../sessions/signingKeys.ts';
import { ISSUER, REFRESH_KEY, SECRETS_KEY } from './sessionsWorld.ts';

const [connectionString = ''] = process.argv.slice(2);
const fail = (error: unknown): void => {
  throw error;
};
const pool = createPool({ connectionString, applicationName: 'refreshing process', onIdleError: fail });
const nowMs = () => performance.now();
const keys = createSigningKeys(pool, { secretBox: createSecretBox(SECRETS_KEY), clock: systemClock, nowMs });
const sessions = createSessions(pool, {
  keys,
  refreshKey: REFRESH_KEY,
  clock: systemClock,
  issuer: ISSUER,
  nowMs,
  onReuse: fail,
});

process.on('message', (token) => {
  sessions.refresh(String(token)).then(({ refreshToken }) => process.send?.(refreshToken), fail);
});
// The parent process is gone.
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
