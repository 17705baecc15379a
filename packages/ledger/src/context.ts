/** Play: sessions with a lock, bets, wins, rollbacks and settlements. */
import { type Accounts, type HoldActs, settlesDue } from '@coffer/accounts';
import { defineContext, type Platform, someStream } from '@coffer/host';
import { failureOf } from '@coffer/http';
import type { AppDirectory } from '@coffer/portal';
import type { Users } from '@coffer/users';
import { playSession } from './domain/playSession.ts';
import { ledgerErrors } from './errors.ts';
import { operatorSessionEndpoints } from './operatorRoutes.ts';
import { sessionDues, sessionHoldAct } from './playSession.reactions.ts';
import { playSessionsProjection } from './playSessions.projection.ts';
import { createPlaySessions } from './playSessions.ts';
import { ledgerEndpoints } from './routes.ts';
import { createListSessions } from './sessionList.ts';
import { createListTransactions } from './transactions.ts';
import { transactionUseOf } from './transactionUse.ts';

export interface LedgerNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly accounts: Accounts;
  readonly holds: HoldActs;
}

export const ledgerContext = defineContext({
  name: 'ledger',
  errors: ledgerErrors,
  streams: [someStream(playSession)],
  projections: { playSessions: playSessionsProjection },
  create({ pool, store, handler, clock, failPoint, whole, ...needs }: LedgerNeeds) {
    const { directory, users, accounts } = needs;
    const playSessions = createPlaySessions({
      handler,
      store,
      clock,
      failPoint,
      accounts,
      users,
      currencyByCode: directory.currencyByCode,
    });
    needs.holds.register('session', sessionHoldAct(playSessions));
    const listSessions = createListSessions(pool);
    return {
      provides: { transactionUseOf },
      endpoints: [
        ...ledgerEndpoints({
          playSessions,
          listTransactions: createListTransactions(store),
          listSessions,
          envelopeOf(error) {
            const { status, body } = failureOf(error, whole.catalog, whole.errorOf);
            return { status, body: JSON.parse(body) };
          },
        }),
        ...operatorSessionEndpoints({ directory, playSessions, listSessions }),
      ],
      reactions: { holds: sessionDues(playSessions).map(settlesDue) },
    };
  },
});
