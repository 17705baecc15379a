import type { Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { type AccountEvent, accountEvents } from './domain/account.events.ts';
import { accountStreamOf } from './domain/account.ts';
import { rollbackEntryId, sessionHoldId } from './domain/accountIds.ts';
import { type AccountDue, createHoldActs, type HoldAct, settlesDue } from './hold.reactions.ts';

const APP = `app_${'0'.repeat(26)}`;
const alice = accountStreamOf({
  environment: 'test',
  appId: APP,
  userId: `usr_${'0'.repeat(25)}1`,
  currencyId: 2,
});
const bob = accountStreamOf({
  environment: 'test',
  appId: APP,
  userId: `usr_${'0'.repeat(25)}2`,
  currencyId: 2,
});

describe('the hold process', () => {
  it('carries out what a hold was taken for', async () => {
    expect(await actsAfter(held(alice, 's1'))).to.deep.equal(['open s1 of alice']);
  });

  it('leaves alone what was carried out, and what was given back', async () => {
    expect(await actsAfter(held(alice, 's1'), opened('s1', alice))).to.deep.equal([]);
    expect(await actsAfter(held(alice, 's1'), closed(alice, 's1'))).to.deep.equal([]);
  });

  it('still takes care of the hold of the player who came second for the same act', async () => {
    expect(await actsAfter(held(alice, 's1'), held(bob, 's1'), opened('s1', alice))).to.deep.equal([
      'open s1 of bob',
    ]);
  });

  it('closes the hold of what has been settled, once', async () => {
    const open = [held(alice, 's1'), opened('s1', alice)];
    expect(await actsAfter(...open, settled('s1', alice))).to.deep.equal(['settle s1']);
    expect(await actsAfter(...open, settled('s1', alice), closed(alice, 's1'))).to.deep.equal([]);
  });

  it('credits what a late rollback gives back, once', async () => {
    expect(await actsAfter(late('s1', 'r1', alice))).to.deep.equal(['credit s1/r1']);
    expect(await actsAfter(late('s1', 'r1', alice), credited(alice, 's1', 'r1'))).to.deep.equal([]);
    expect(await actsAfter(late('s1', 'r1', alice), credited(bob, 's1', 'r1'))).to.deep.equal([
      'credit s1/r1',
    ]);
  });

  it('refuses to skip a hold whose purpose this release does not know', async () => {
    const { reaction } = createHoldActs();
    expect(() => reaction.causeOf(held(alice, 's1'))).to.throw('"session"');
  });
});

/** Plays of another context, as small as possible: everything that the process knows of them is given here. */
function given(acts: string[]): readonly Reaction[] {
  const session: HoldAct = {
    holdOf: (event) => {
      const play = playOf(event);
      return event.type === 'Opened'
        ? { account: play.account, holdId: sessionHoldId(play.sessionId) }
        : undefined;
    },
    act: async (cause) => {
      const event = accountEvents.decode(cause);
      if (event.type !== 'FundsHeld') throw new Error(`${event.type} holds nothing`);
      acts.push(`open ${event.data.request.sessionId} of ${cause.stream === alice ? 'alice' : 'bob'}`);
    },
  };
  const settle: AccountDue = {
    name: 'settle',
    dueOf: (event) => {
      const play = playOf(event);
      return event.type === 'Settled'
        ? { account: play.account, holdId: sessionHoldId(play.sessionId) }
        : undefined;
    },
    act: async (cause) => {
      acts.push(`settle ${playOf(cause).sessionId}`);
    },
  };
  const credit: AccountDue = {
    name: 'credit',
    dueOf: (event) => {
      const { account, sessionId, uuid } = playOf(event);
      return event.type === 'RolledBackLate'
        ? { account, entryId: rollbackEntryId(sessionId, uuid) }
        : undefined;
    },
    act: async (cause) => {
      acts.push(`credit ${playOf(cause).sessionId}/${playOf(cause).uuid}`);
    },
  };
  const holds = createHoldActs();
  holds.register('session', session);
  return [holds.reaction, settlesDue(settle), settlesDue(credit)];
}

/** What is done about a history after which nothing more happens. */
async function actsAfter(...history: readonly RecordedEvent[]): Promise<readonly string[]> {
  const acts: string[] = [];
  for (const reaction of given(acts)) {
    const pending = new Map<string, RecordedEvent>();
    for (const event of history) {
      const completed = reaction.effectOf(event);
      if (completed !== undefined) pending.delete(completed);
      const cause = reaction.causeOf(event);
      if (cause) pending.set(cause.key, event);
    }
    for (const cause of pending.values()) await reaction.act(cause, new AbortController().signal);
  }
  return acts;
}

interface Play {
  readonly account: string;
  readonly sessionId: string;
  readonly uuid: string;
}
const playOf = (event: RecordedEvent): Play => JSON.parse(event.data);

const play = (type: string, sessionId: string, account: string, uuid = ''): RecordedEvent =>
  recorded(`play-${sessionId}`, type, JSON.stringify({ account, sessionId, uuid } satisfies Play));
const opened = (sessionId: string, account: string) => play('Opened', sessionId, account);
const settled = (sessionId: string, account: string) => play('Settled', sessionId, account);
const late = (sessionId: string, uuid: string, account: string) =>
  play('RolledBackLate', sessionId, account, uuid);

const happened = (account: string, event: AccountEvent) =>
  recorded(account, event.type, accountEvents.encode(event).data);
const held = (account: string, sessionId: string) =>
  happened(account, {
    type: 'FundsHeld',
    data: { holdId: sessionHoldId(sessionId), amount: 5n, purpose: 'session', request: { sessionId } },
  });
const closed = (account: string, sessionId: string) =>
  happened(account, { type: 'HoldClosed', data: { holdId: sessionHoldId(sessionId), held: 5n, payout: 5n } });
const credited = (account: string, sessionId: string, uuid: string) =>
  happened(account, {
    type: 'AccountCredited',
    data: {
      entryId: rollbackEntryId(sessionId, uuid),
      amount: 1n,
      reason: 'rollback',
      available: 1n,
      held: 0n,
    },
  });

const recorded = (stream: string, type: string, data: string) => recordedEvent({ stream, type, data });
