/** Gives the operator's admin API the trial balances. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Checkpoint, readCheckpoint } from '@coffer/consumers';
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import { Rejection } from '@coffer/kernel';
import type { AppDirectory, PortalTotals } from '@coffer/portal';
import { liveReadSchema, READ_MODELS_CONSUMER, trialBalances } from '@coffer/read-models';
import type { PastPlaceOf } from './pastPlace.ts';
import { totalsOfCurrencies } from './totalsOfCurrencies.ts';

const POLL_MS = 25;
const ANSWER_MARGIN_MS = 1_000;

export function portalTotals({
  pool,
  directory,
  pastPlaceOf,
}: {
  readonly pool: Pool;
  readonly directory: Pick<AppDirectory, 'currencies'>;
  readonly pastPlaceOf: PastPlaceOf;
}): PortalTotals {
  return async ({ at, appId, environment }, { deadlineMs }) => {
    const upTo = at && (await pastPlaceOf(at)).ordinal;
    if (upTo !== undefined) await reached(upTo, deadlineMs - ANSWER_MARGIN_MS);
    return withTransaction(pool, async (client) => {
      // Rows and checkpoint of one moment.
      await client.query('set transaction isolation level repeatable read, read only');
      const schema = await liveReadSchema(client);
      const balances = await trialBalances(client, schema, { appId, environment, upToOrdinal: upTo });
      return {
        ordinal: upTo ?? (await checkpointOf(client))?.ordinal ?? 0,
        items: totalsOfCurrencies(await directory.currencies(appId), balances),
      };
    });
  };

  /** The read models follow the log: they are at the ordinal in a moment, or something is wrong with them. */
  async function reached(ordinal: number, untilMs: number): Promise<void> {
    for (;;) {
      const checkpoint = await checkpointOf(pool);
      if ((checkpoint?.ordinal ?? 0) >= ordinal) return;
      if (performance.now() > untilMs) {
        throw new Rejection('portal/read_models_behind', { ordinal, reached: checkpoint?.ordinal ?? 0 });
      }
      await delay(POLL_MS);
    }
  }
}

async function checkpointOf(db: Queryable): Promise<Checkpoint | undefined> {
  return readCheckpoint(db, { schema: await liveReadSchema(db), name: READ_MODELS_CONSUMER });
}
