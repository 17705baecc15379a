/** A pool with many stakes, written without the service in a second: as many requests would take minutes. */
import { type AccountEvent, accountEvents, accountStreamOf, stakeHoldId } from '@coffer/accounts';
import { poolEvents, poolStream } from '@coffer/custody/testing';
import { type AppPlace, openStoreOf } from '@coffer/host/testing';
import { ofEach, writeEvents } from './playedLog.ts';

export interface WrittenStake {
  readonly betId: string;
  readonly userId: string;
  readonly isConfirmed: boolean;
}

/** In CHIP, which `setUpApp` gives the id 2. */
const CURRENCY_ID = 2;
const HOUR_MS = 3_600_000;
const EVENTS_EACH = 1_000;

/** Each of this amount, for players of whom nothing is in the log but their first funds. */
export async function writeStakedPool(
  databaseUrl: string,
  { environment, appId }: Pick<AppPlace, 'appId' | 'environment'>,
  poolId: string,
  amount: bigint,
  stakes: readonly WrittenStake[],
): Promise<void> {
  const now = Date.now();
  const lockedAt = new Date(now).toISOString();
  const confirmBy = new Date(now + HOUR_MS).toISOString();
  const holdOf = ({ betId }: WrittenStake): AccountEvent => ({
    type: 'FundsHeld',
    data: {
      holdId: stakeHoldId(poolId, betId),
      amount,
      purpose: 'stake',
      request: { poolId, betId, lockedAt, confirmBy },
    },
  });
  const numbered = stakes.map((each, index) => ({ ...each, stake: index + 1 }));
  const decisions = [
    ...numbered.map(({ stake, betId, userId }) => ({
      type: 'StakeLocked' as const,
      data: { stake, betId, userId, currencyId: CURRENCY_ID, amount, lockedAt, confirmBy },
    })),
    ...numbered
      .filter(({ isConfirmed }) => isConfirmed)
      .map(({ stake, betId }) => ({ type: 'StakeConfirmed' as const, data: { stake, betId, amount } })),
  ];
  const store = await openStoreOf(databaseUrl);
  try {
    const ofPlayers = [...Map.groupBy(stakes, ({ userId }) => userId)];
    await ofEach(ofPlayers, ([userId, own]) => {
      const account = accountStreamOf({ environment, appId, userId, currencyId: CURRENCY_ID });
      return writeEvents(store, account, accountEvents, own.map(holdOf), 0);
    });
    const stream = poolStream(environment, appId, poolId);
    for (let from = 0; from < decisions.length; from += EVENTS_EACH) {
      const expected = from === 0 ? 'noStream' : from - 1;
      await writeEvents(store, stream, poolEvents, decisions.slice(from, from + EVENTS_EACH), expected);
    }
  } finally {
    await store.close();
  }
}
