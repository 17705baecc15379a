/** The books of an app as a whole, now or at an earlier moment. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Checkpoint, readCheckpoint } from '@coffer/consumers';
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import { type Endpoint, endpoint } from '@coffer/http';
import { Rejection } from '@coffer/kernel';
import {
  type AppDirectory,
  momentOf,
  type PastPlaceOf,
  PLACE_ERRORS,
  pastMoment,
  placeOf,
} from '@coffer/portal';
import { liveReadSchema, READ_MODELS_CONSUMER, trialBalances } from '@coffer/read-models';
import { z } from 'zod';
import { currencyTotals, totalsOfCurrencies } from './totalsOfCurrencies.ts';

const totalsBody = z.object({
  /** How many events of the log the figures come from. */
  ordinal: z.int(),
  items: z.array(currencyTotals),
});

/** How long before its deadline a request gives up waiting for the read models. */
const ANSWER_MARGIN_MS = 1_000;
const POLL_MS = 25;

export const operatorTotalsEndpoints = ({
  pool,
  directory,
  pastPlaceOf,
}: {
  readonly pool: Pool;
  readonly directory: AppDirectory;
  readonly pastPlaceOf: PastPlaceOf;
}): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/portal/app/:appId/:environment/totals',
    credential: 'operator',
    summary: "The trial balance of an app's books, now or at an earlier moment",
    description: 'By currency, the seven accounts of the books: they sum to zero.',
    query: z.strictObject({ at: pastMoment.optional() }),
    success: { status: 200, schema: totalsBody },
    errors: [...PLACE_ERRORS, 'portal/read_models_behind'],
    handle: async ({ params, query, context }) => {
      const place = await placeOf(directory, params);
      const at = momentOf(query.at);
      const upToOrdinal = at && (await pastPlaceOf(at)).ordinal;
      if (upToOrdinal !== undefined) {
        await reached(pool, upToOrdinal, context.deadlineMs - ANSWER_MARGIN_MS);
      }
      return withTransaction(pool, async (client) => {
        // Rows and checkpoint from the same moment.
        await client.query('set transaction isolation level repeatable read, read only');
        const schema = await liveReadSchema(client);
        const balances = await trialBalances(client, schema, { ...place, upToOrdinal });
        const ordinal = upToOrdinal ?? (await checkpointOf(client))?.ordinal ?? 0;
        const items = totalsOfCurrencies(await directory.currencies(place.appId), balances);
        return { status: 200, body: { ordinal, items } };
      });
    },
  }),
];

/** The read models follow the log: they reach the ordinal in a moment, or something is wrong with them. */
async function reached(pool: Pool, ordinal: number, untilMs: number): Promise<void> {
  for (;;) {
    const checkpoint = await checkpointOf(pool);
    if ((checkpoint?.ordinal ?? 0) >= ordinal) return;
    if (performance.now() > untilMs) {
      throw new Rejection('portal/read_models_behind', { ordinal, reached: checkpoint?.ordinal ?? 0 });
    }
    await delay(POLL_MS);
  }
}

async function checkpointOf(db: Queryable): Promise<Checkpoint | undefined> {
  return readCheckpoint(db, { schema: await liveReadSchema(db), name: READ_MODELS_CONSUMER });
}
