/** The row of a play session, from its stream. Source: contract, Ledger, GET /ledger/sessions. */
import assert from 'node:assert/strict';
import { parseStreamName } from '@coffer/kernel';
import type { PlaySessionRow, RowProjection } from '@coffer/read-models';
import { playSessionEvents } from './domain/playSession.events.ts';

export const playSessionsProjection: RowProjection<PlaySessionRow> = {
  keyOf({ stream }) {
    // Most events in the log are bets, and most others can be told apart without parsing.
    if (!stream.startsWith('playSession-')) return undefined;
    return parseStreamName(stream)?.id;
  },

  evolve(row, recorded) {
    const event = playSessionEvents.decode(recorded);
    const { revision } = recorded;
    if (event.type === 'SessionOpened') {
      const name = parseStreamName(recorded.stream);
      assert(name && !row, `${recorded.stream} opens once`);
      const { transactionUuid: _transactionUuid, ...opened } = event.data;
      return {
        ...opened,
        revision,
        appId: name.owner,
        environment: name.environment,
        balance: opened.lockAmount,
        totalBet: 0n,
        totalWin: 0n,
        payout: null,
        net: null,
        lateRolledBack: 0n,
        status: 'open',
        settledAt: null,
      };
    }

    assert(row, `${recorded.stream} begins with its opening`);
    switch (event.type) {
      case 'BetPlaced':
        return { ...row, revision, balance: event.data.balance, totalBet: row.totalBet + event.data.amount };
      case 'WinCredited':
        return { ...row, revision, balance: event.data.balance, totalWin: row.totalWin + event.data.amount };
      case 'BetRolledBack': {
        // The house pays a late one into the account: the settlement's figures stay.
        if (event.data.late) {
          return { ...row, revision, lateRolledBack: row.lateRolledBack + event.data.amount };
        }
        return { ...row, revision, balance: event.data.balance, totalBet: row.totalBet - event.data.amount };
      }
      case 'RollbackRemembered':
        return { ...row, revision };
      case 'SessionSettled': {
        const { totalBet, totalWin, payout, net, settledAt } = event.data;
        assert(
          totalBet === row.totalBet && totalWin === row.totalWin,
          `${recorded.stream} settles its own sums`,
        );
        return {
          ...row,
          revision,
          balance: payout,
          totalBet,
          totalWin,
          payout,
          net,
          status: 'settled',
          settledAt,
        };
      }
    }
  },
};
