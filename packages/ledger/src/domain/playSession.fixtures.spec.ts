import { holdsEventFixtures } from '@coffer/testing';
import { answerBody } from './playSession.answers.ts';
import type { PlaySessionEvent } from './playSession.events.ts';
import { type PlaySessionCommand, playSession } from './playSession.ts';

function repeatOf(event: PlaySessionEvent): PlaySessionCommand {
  switch (event.type) {
    case 'SessionOpened':
      return { type: 'OpenSession', ...event.data };
    case 'BetPlaced':
      return { type: 'PlaceBet', ...event.data };
    case 'WinCredited':
      return { type: 'CreditWin', ...event.data };
    case 'BetRolledBack':
    case 'RollbackRemembered':
      return { type: 'RollBackBet', ...event.data };
    case 'SessionSettled':
      return { type: 'SettleSession', transactionUuid: event.data.transactionUuid, at: event.data.settledAt };
  }
}

describe('play session: fixtures', () => {
  // To the caller, every repeat on a play session is a repeat; a second hold on an account is not one.
  const replaying: typeof playSession = {
    ...playSession,
    decide(session, command) {
      const decision = playSession.decide(session, command);
      if (decision.replayed !== true) throw new Error(`${command.type} again was not answered as a repeat`);
      return decision;
    },
  };
  holdsEventFixtures(replaying, new URL('fixtures/', import.meta.url), {
    repeatOf,
    textOf(answer) {
      if (answer.outcome === 'lost') throw new Error('the fixture opens another session');
      return JSON.stringify(answerBody(answer));
    },
  });
});
