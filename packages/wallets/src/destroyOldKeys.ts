/** Destroys the keys that their users have exported, once they can no longer be handed out again. */
import { sweepEveryMinute } from '@coffer/host';
import type { Logger } from '@coffer/http';
import type { Exports } from './exports.ts';

const MOST_AT_A_TIME = 100;

export const destroyOldKeysRegularly = (
  { destroyOldKeys }: Pick<Exports, 'destroyOldKeys'>,
  logger: Logger,
) =>
  sweepEveryMinute(
    async () => {
      const count = await destroyOldKeys(MOST_AT_A_TIME);
      if (count > 0) logger.info({ count }, 'keys that their users took a day ago were destroyed');
    },
    (error) => logger.warn({ err: error }, 'keys that their users took were not destroyed'),
  );
