/** Deletes sessions that can no longer have any effect. */
import { sweepEveryMinute } from '@coffer/host';
import type { Logger } from '@coffer/http';
import type { Sessions } from './sessions/index.ts';

const MOST_AT_A_TIME = 1_000;

export const sweepSessions = (sessions: Pick<Sessions, 'deleteOld'>, logger: Logger) =>
  sweepEveryMinute(
    async () => {
      await sessions.deleteOld(MOST_AT_A_TIME);
    },
    (error) => logger.warn({ err: error }, 'old sign-in sessions were not deleted'),
  );
