/** What an event repeats must agree with the session, so that verification finds a forged event. */
import { expect } from 'chai';
import {
  betPlaced,
  lost40,
  opened,
  remembered,
  rolledBack,
  rolledBackLate,
  settledOf100,
} from '../testing/playSessionBuilders.ts';
import type { PlaySessionEvent } from './playSession.events.ts';
import { playSession } from './playSession.ts';

describe('play session: what its events repeat', () => {
  const open = [opened(100n), betPlaced('b', 40n, 60n)];
  const settled = settledOf100(lost40);
  const over = [...open, settled];
  const late = rolledBackLate('r', 'b', 40n, 60n);

  const follows = (history: readonly PlaySessionEvent[], event: PlaySessionEvent) =>
    expect(() => [...history, event].reduce(playSession.evolve, playSession.initialState));
  const changed = (event: PlaySessionEvent, change: object) =>
    // The change is made to the event's own fields.
    ({ ...event, data: { ...event.data, ...change } }) as PlaySessionEvent;

  it('is accepted if it agrees', () => {
    follows(open, settled).not.to.throw();
    follows(over, late).not.to.throw();
    follows(open, rolledBack('r', 'b', 40n, 100n)).not.to.throw();
    follows(open, remembered('r', 'x', 60n)).not.to.throw();
  });

  const rows: readonly [what: string, history: readonly PlaySessionEvent[], event: PlaySessionEvent][] = [
    ['the bets of a settlement', open, changed(settled, { totalBet: 41n })],
    ['its wins', open, changed(settled, { totalWin: 1n })],
    ['its payout', open, changed(settled, { payout: 61n, net: -39n })],
    ['its result', open, changed(settled, { net: 40n })],
    ['its lock', open, changed(settled, { lockAmount: 60n, net: 0n })],
    ['its player', open, changed(settled, { userId: 'usr_2' })],
    ['its currency', open, changed(settled, { currencyId: 2 })],
    ['the stake that is given back', open, rolledBack('r', 'b', 39n, 99n)],
    [
      'the account that a late one is paid into',
      over,
      changed(late, { late: { userId: 'usr_2', currencyId: 1 } }),
    ],
    ['the balance next to a remembered rollback', open, remembered('r', 'x', 61n)],
  ];
  for (const [what, history, event] of rows) {
    it(`is rejected if it disagrees: ${what}`, () => follows(history, event).to.throw());
  }
});
