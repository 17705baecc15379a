/** The rows of referrals, according to the executable model and the order of the log. */
import assert from 'node:assert/strict';
import { decodeMetadata } from '@coffer/kernel';
import type { Applied, Explained, Run } from '@coffer/ledger/testing';
import { commissionStreamOf, earningsStreamOf, referralStreamOf } from '@coffer/referrals/testing';
import { placeCells, placesOf, type Row, rowOf, streamsOf } from './rows.ts';

export const referralRows: Readonly<Record<string, (run: Run, explained: Explained) => readonly Row[]>> = {
  commissions: (_run, explained) => commissionRows(explained),
  earnings: (_run, explained) => earningsRows(explained),
  earnings_entries: (_run, explained) => entryRows(explained),
  referees: (_run, explained) => refereeRows(explained),
};

function refereeRows(explained: Explained): readonly Row[] {
  return placesOf(explained).flatMap(({ place, referrals }) =>
    referrals.attributions.map(({ userId, referrerUserId }) => {
      const stream = referralStreamOf({ ...place, userId });
      const made = explained.applied.find(
        ({ event, operation }) => event.stream === stream && operation.op === 'attribute',
      );
      assert(made, `${userId} was attributed`);
      return rowOf({
        stream,
        ordinal: made.ordinal,
        ...placeCells(place),
        user_id: userId,
        referrer_user_id: referrerUserId,
        attributed_at: timeOf(made),
      });
    }),
  );
}

function commissionRows(explained: Explained): readonly Row[] {
  const placeOf = streamsOf(explained, 'commission');
  return placesOf(explained).flatMap(({ place, referrals }) =>
    referrals.commissions.map(({ idemKey, kind, userId, currencyId, amount, accruals }) => {
      const stream = commissionStreamOf({ ...place, idemKey });
      return rowOf({
        stream,
        ...placeOf(stream),
        ...placeCells(place),
        idem_key: idemKey,
        kind,
        user_id: userId,
        currency_id: currencyId,
        amount,
        accruals,
      });
    }),
  );
}

function earningsRows(explained: Explained): readonly Row[] {
  const placeOf = streamsOf(explained, 'earnings');
  return placesOf(explained).flatMap(({ place, referrals }) =>
    referrals.earnings.map(({ userId, currencyId, accrued, withdrawn }) => {
      const stream = earningsStreamOf({ ...place, userId, currencyId });
      return rowOf({
        stream,
        ...placeOf(stream),
        ...placeCells(place),
        user_id: userId,
        currency_id: currencyId,
        accrued,
        withdrawn,
      });
    }),
  );
}

/** What is put back takes the place of what was set aside. */
function entryRows({ applied }: Explained): readonly Row[] {
  const entries = new Map<string, Row>();
  const amounts = new Map<string, string>();
  for (const each of applied) {
    const { operation, event, place, ordinal } = each;
    const entry = entryOf(operation);
    if (!entry) continue;
    const { kind, idemKey, userId, currencyId, level, sourceUserId, memo } = entry;
    const key = `${event.stream} ${kind === 'withdrawal' ? kind : 'accrual'}:${idemKey}`;
    const amount = entry.amount ?? amounts.get(key) ?? String(JSON.parse(event.data).amount);
    amounts.set(key, amount);
    entries.set(
      key,
      rowOf({
        entry: key,
        ordinal,
        stream: event.stream,
        ...placeCells(place),
        user_id: userId,
        currency_id: currencyId,
        kind,
        idem_key: idemKey,
        amount,
        level,
        source_user_id: sourceUserId,
        memo,
        status: operation.op === 'putBack' ? 'returned' : 'booked',
        occurred_at: timeOf(each),
      }),
    );
  }
  return [...entries.values()];
}

interface Entry {
  readonly kind: 'payout' | 'distribution' | 'withdrawal';
  readonly idemKey: string;
  readonly userId: string;
  readonly currencyId: number;
  /** Of an accrual. */
  readonly amount?: string;
  readonly level?: number | undefined;
  readonly sourceUserId?: string | undefined;
  readonly memo?: string | undefined;
}

function entryOf(operation: Applied['operation']): Entry | undefined {
  switch (operation.op) {
    case 'payout':
      return { kind: 'payout', ...operation };
    case 'accrue':
      return { kind: 'distribution', ...operation };
    case 'setAside':
    case 'putBack': {
      const { idemKey, userId, currencyId } = operation;
      return { kind: 'withdrawal', idemKey, userId, currencyId };
    }
    default:
      return undefined;
  }
}

const timeOf = ({ event }: Applied): string => decodeMetadata(event.metadata).occurredAt;
