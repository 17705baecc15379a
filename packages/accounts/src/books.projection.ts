/** What the events of an account do to the books. Source: contract, Money model. */
import assert from 'node:assert/strict';
import { decodeMetadata } from '@coffer/kernel';
import type { AccountRow, BookEntry, BooksProjection } from '@coffer/read-models';
import { type AccountEvent, accountEvents } from './domain/account.events.ts';
import { parseAccountStream } from './domain/account.ts';
import { purposeOf } from './domain/accountIds.ts';
import { postingsOf } from './postings.ts';

export const booksProjection: BooksProjection = {
  // Most events in the log are bets, which can be told apart without parsing.
  concerns: ({ stream }) => stream.startsWith('account-'),

  entryOf(account, recorded) {
    const { stream, revision } = recorded;
    const parts = parseAccountStream(stream);
    assert(parts, `${stream} names an account`);
    const event = accountEvents.decode(recorded);
    const figures = figuresAfter(account ?? { available: 0n, held: 0n }, event);
    assert(figures.available >= 0n && figures.held >= 0n, `${stream} is never overdrawn`);
    return {
      account: { stream, revision, ...parts, ...figures },
      subject: subjectOf(event),
      occurredAt: decodeMetadata(recorded.metadata).occurredAt,
      ...holdOf(event),
      postings: postingsOf(event),
    };
  },
};

type Figures = Pick<AccountRow, 'available' | 'held'>;

/** Entries record the resulting figures; for holds these follow from the amounts. */
function figuresAfter({ available, held }: Figures, event: AccountEvent): Figures {
  switch (event.type) {
    case 'AccountCredited':
    case 'AccountDebited':
      return { available: event.data.available, held: event.data.held };
    case 'FundsHeld':
      return { available: available - event.data.amount, held: held + event.data.amount };
    case 'HoldClosed':
      return { available: available + event.data.payout, held: held - event.data.held };
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

function subjectOf(event: AccountEvent): string {
  return 'entryId' in event.data ? event.data.entryId : event.data.holdId;
}

function holdOf(event: AccountEvent): Pick<BookEntry, 'opens' | 'closes'> {
  switch (event.type) {
    case 'FundsHeld': {
      const { holdId, amount } = event.data;
      return { opens: { holdId, purpose: purposeOf(holdId), amount } };
    }
    case 'HoldClosed': {
      const { holdId, held, payout } = event.data;
      return { closes: { holdId, amount: held, payout } };
    }
    default:
      return {};
  }
}
