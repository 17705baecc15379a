/**
 * Referrals as they are now. A user's own code, referrer and earnings come from streams; lists come from rows and wait
 * until these have come as far as the log was. Source: contract, Referrals.
 */
import type { Pool } from '@coffer/database';
import { type EventStore, type Requester, readEvent } from '@coffer/event-store';
import { type AppPlace, decodeMetadata } from '@coffer/kernel';
import { listDescendants, listEarningsEntries, listReferees, rowsAsNow } from '@coffer/read-models';
import type { Users } from '@coffer/users';
import type { Chains } from './chains.ts';
import { referralStreamOf } from './domain/referral.ts';
import * as resource from './referral.resource.ts';
import type { Subjects } from './subjects.ts';

export interface ReferralReadDependencies {
  readonly db: Pool;
  readonly store: Pick<EventStore, 'head' | 'comparePositions' | 'readStream'>;
  readonly users: Pick<Users, 'show'>;
  readonly chains: Chains;
  readonly subjects: Subjects;
}

export type ReferralReads = ReturnType<typeof createReferralReads>;

export function createReferralReads({ db, store, users, chains, subjects }: ReferralReadDependencies) {
  return { show, history, tree };

  /** The user as a referrer and as one who was referred. Throws `users/not_found`. */
  async function show(
    place: AppPlace,
    userId: string,
    { limit, cursor }: resource.RefereesQuery,
    context: Requester,
  ) {
    const { appId, environment, scopeId } = place;
    const { status } = await users.show({ environment, scopeId, userId }, context);
    await rowsAsNow(db, store, context);
    const [{ code, link }, [referrer], referees, balances] = await Promise.all([
      chains.showOf(place, userId, context),
      chains.chainOf(place, userId, 1, context),
      listReferees(db, { appId, environment, referrerUserId: userId, limit, cursor }),
      subjects.balancesOf(place, userId, context),
    ]);
    return resource.userReferralsBody({
      userId,
      code: status === 'erased' ? null : (code ?? null),
      referrer: referrer ? { userId: referrer.userId, code: referrer.code } : null,
      attributedAt: link?.status === 'attributed' ? await timeOf(place, userId, link.revision) : null,
      referees: referees.items.map((referee) => ({
        userId: referee.userId,
        attributedAt: referee.attributedAt,
      })),
      nextCursor: referees.nextCursor,
      balances,
    });
  }

  async function timeOf(place: AppPlace, userId: string, revision: number): Promise<string> {
    const event = await readEvent(store, referralStreamOf({ ...place, userId }), revision);
    return decodeMetadata(event.metadata).occurredAt;
  }

  /** A user's accruals and withdrawals, newest first. Throws `users/not_found`, `referrals/unknown_currency`. */
  async function history(
    place: AppPlace,
    userId: string,
    { currency, limit, cursor }: resource.HistoryQuery,
    context: Requester,
  ) {
    if (currency === undefined) await subjects.requireUser(place, userId, context);
    else await subjects.requireUserAndCurrency(place, { userId, currency }, context);
    await rowsAsNow(db, store, context);
    const { appId, environment } = place;
    const query = { appId, environment, userId, currencyId: currency, limit, cursor };
    const { items, nextCursor } = await listEarningsEntries(db, query);
    return resource.historyBody({
      items: items.map(({ kind, idemKey, currencyId, amount, level, sourceUserId, memo, occurredAt }) => ({
        kind,
        idemKey,
        currency: currencyId,
        amount,
        ...(level === null ? {} : { level }),
        ...(sourceUserId === null ? {} : { sourceUserId }),
        ...(memo === null ? {} : { memo }),
        at: occurredAt,
      })),
      nextCursor,
    });
  }

  /** Whom the user brought, whom they brought, and so on. Throws `users/not_found`. */
  async function tree(
    place: AppPlace,
    userId: string,
    { depth, limit }: resource.TreeQuery,
    context: Requester,
  ) {
    await subjects.requireUser(place, userId, context);
    await rowsAsNow(db, store, context);
    const { appId, environment } = place;
    const found = await listDescendants(db, { appId, environment, userId, depth, limit: limit + 1 });
    return { userId, items: found.slice(0, limit), isComplete: found.length <= limit };
  }
}
