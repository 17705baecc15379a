/** What a reconciliation proves, and what it finds. Source: contract, Ledger, GET /ledger/reconcile. */
import type { Pool } from '@coffer/database';
import { type AppPlace, requireStatus, setUpApp, textOf, verdict } from '@coffer/host/testing';
import { useLedger } from '@coffer/ledger/testing';
import { eventually, itLogTable } from '@coffer/testing';
import { expect } from 'chai';
import { RECONCILED_CONTEXTS } from './testing/reconciledContexts.ts';
import { whileTampered } from './testing/whileTampered.ts';

type Row = Readonly<Record<string, unknown>>;

const SCHEMA = 'read_v1';

const ALTERED = 'an event is altered';

describe('Reconciling', () => {
  let pool: Pool;
  const ledger = useLedger({ contexts: RECONCILED_CONTEXTS });

  before(() => {
    pool = ledger.world.pool;
  });

  const reconcile = (place: AppPlace = ledger.test) => place.reconcile();
  const operator = async (full: boolean, place: AppPlace = ledger.test) => {
    const path = `/portal/app/${place.appId}/${place.environment}/reconcile`;
    const { text } = requireStatus(await ledger.client.post(path, { full }), 200);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return lines.at(-1).result as Row;
  };
  const discrepanciesOf = (details: unknown) =>
    (details as { readonly discrepancies: readonly Row[] }).discrepancies;

  /** Resolves once everything written is in the chain. */
  const chained = () =>
    eventually('the log is chained', async () => {
      const { json } = await ledger.client.get('/portal/audit/head');
      return json.lagEvents === 0 || undefined;
    });

  /** A settled session that was won, an open one, a rolled back bet and a late rollback. */
  async function play(
    place: AppPlace,
  ): Promise<{ readonly userId: string; readonly settled: string; readonly open: string }> {
    const { userId, sessionId: settled } = await place.newSession('100');
    await place.credit(userId, '50');
    const bet = { sessionId: settled, amount: '30' };
    requireStatus(await place.bet({ ...bet, transactionUuid: 'won' }), 200);
    requireStatus(await place.win({ ...bet, betTransactionUuid: 'won', amount: '75' }), 200);
    requireStatus(await place.bet({ ...bet, transactionUuid: 'late' }), 200);
    requireStatus(await place.settle({ sessionId: settled }), 200);
    requireStatus(await place.rollback({ sessionId: settled, betTransactionUuid: 'late' }), 200);
    const opened = requireStatus(await place.openSession({ userId, lockAmount: '20' }), 201);
    const open = textOf(opened, 'sessionId');
    requireStatus(await place.bet({ sessionId: open, amount: '5' }), 200);
    return { userId, settled, open };
  }

  it('says what it compared, where in the log, and what the books come to', async () => {
    const app = await setUpApp(ledger.client);
    await play(app.test);
    const answer = requireStatus(await reconcile(app.test), 200);
    const { position, checkedAt, checks, ...rest } = answer.json;
    const [head] = (await ledger.client.lines('/portal/log')).slice(-1);
    expect(position).to.equal(head?.position);
    expect(checkedAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(rest).to.deep.equal({
      ok: true,
      environment: 'test',
      mode: 'full',
      verifiedFrom: null,
      inFlight: [],
      warnings: [],
      totals: [
        zeros('SOL'),
        // 150 put in; 45 won by the player, whose stake of 30 the house finally gave back.
        { ...zeros('CHIP'), available: '175', held: '20', house: '-45', adjustments: '-150' },
      ],
    });
    const named = (checks as readonly Row[]).map(({ name }) => name);
    expect(named).to.deep.equal([
      'log',
      'accounts_rows',
      'commissions_rows',
      'earnings_rows',
      'earnings_entries_rows',
      'holds_rows',
      'moves_rows',
      'play_sessions_rows',
      'pool_stakes_rows',
      'pools_rows',
      'postings_rows',
      'referees_rows',
      'trial_balances_rows',
      'postings_balance',
      'account_postings',
      'held_funds',
      'trial_balance',
      'open_holds',
      'settled_holds',
      'late_rollbacks',
      'deposits',
      'cash_outs',
      'open_stakes',
      'closed_stakes',
      'pools',
      'pool_rakes',
      'pools_balance',
      'commissions',
      'earnings',
      'earnings_withdrawn',
      'referrals_balance',
    ]);
    for (const check of checks as readonly Row[]) {
      expect(check.ok, String(check.name)).to.equal(true);
      // Nothing was moved on a chain here, staked in a pool, or earned by referrals.
      const isOfOthers = /^(moves_rows|deposits|cash_outs)$|pool|stakes|commissions|earnings|refer/.test(
        String(check.name),
      );
      if (!isOfOthers) expect(check.examined, String(check.name)).to.be.greaterThan(0);
    }
  });

  it('continues from what it has verified, and derives everything anew when told to', async () => {
    const first = requireStatus(await reconcile(), 200).json;
    await play(ledger.test);
    const second = requireStatus(await reconcile(), 200).json;
    expect(second).to.include({ mode: 'incremental', verifiedFrom: first.position });
    const full = await operator(true);
    expect(full).to.include({ ok: true, mode: 'full', verifiedFrom: null, position: second.position });
    expect(full.totals).to.deep.equal(second.totals);
  });

  describe('finds, by name, and for that app and environment alone,', () => {
    let played: Awaited<ReturnType<typeof play>>;
    before(async () => {
      played = await play(ledger.test);
      await play(ledger.live);
    });

    const stream = () => `account-test.${ledger.app.appId}.${played.userId}.2`;
    const cases: readonly (readonly [what: string, table: string, tamper: () => string, found: () => Row])[] =
      [
        [
          'a changed balance',
          'accounts',
          () => `update ${SCHEMA}.accounts set available = available + 1 where stream = '${stream()}'`,
          () => ({
            check: 'accounts_rows',
            subject: stream(),
            expected: { available: '175' },
            actual: { available: '176' },
          }),
        ],
        [
          'a missing account',
          'accounts',
          () => `delete from ${SCHEMA}.accounts where stream = '${stream()}'`,
          () => ({ check: 'accounts_rows', subject: stream(), actual: null }),
        ],
        [
          'a changed posting',
          'postings',
          () =>
            `update ${SCHEMA}.postings set amount = amount + 1, current_balance = current_balance + 1
            where stream = '${stream()}' and revision = 1 and number = 2`,
          () => ({
            check: 'postings_rows',
            subject: `${stream()} 1 2`,
            expected: { amount: '100', current_balance: '100' },
            actual: { amount: '101', current_balance: '101' },
          }),
        ],
        [
          'a posting of another account',
          'postings',
          () =>
            `update ${SCHEMA}.postings set account = 'external'
            where stream = '${stream()}' and revision = 0 and number = 2`,
          () => ({ check: 'postings_rows', subject: `${stream()} 0 2`, actual: { account: 'external' } }),
        ],
        [
          'a posting that never was',
          'postings',
          () =>
            `insert into ${SCHEMA}.postings
           select log_ordinal, 9, stream, revision, app_id, environment, user_id, currency_id, account, subject,
                  amount, previous_balance, current_balance, occurred_at
             from ${SCHEMA}.postings where stream = '${stream()}' and revision = 0 and number = 1`,
          () => ({ check: 'postings_rows', subject: `${stream()} 0 9`, expected: null }),
        ],
        [
          'a changed total',
          'trial_balances',
          () =>
            `update ${SCHEMA}.trial_balances set balance = balance + 1
            where book = 'test.${ledger.app.appId}.2.house'`,
          () => ({ check: 'trial_balances_rows', subject: `test.${ledger.app.appId}.2.house` }),
        ],
        [
          'a changed hold',
          'holds',
          () => `update ${SCHEMA}.holds set amount = 21 where hold_id = 'session:${played.open}'`,
          () => ({ check: 'holds_rows', subject: `${stream()} session:${played.open}` }),
        ],
        [
          'a changed session',
          'play_sessions',
          () => `update ${SCHEMA}.play_sessions set payout = 116 where session_id = '${played.settled}'`,
          () => ({
            check: 'play_sessions_rows',
            subject: played.settled,
            expected: { payout: '115' },
            actual: { payout: '116' },
          }),
        ],
      ];

    for (const [what, table, tamper, found] of cases) {
      it(what, async () => {
        const before = requireStatus(await reconcile(), 200);
        await whileTampered(pool, `${SCHEMA}.${table}`, tamper(), async () => {
          const answer = await reconcile();
          expect(verdict(answer), answer.text).to.equal('409 ledger/integrity_failed');
          const [discrepancy, ...others] = discrepanciesOf(answer.json.details);
          expect(others).to.deep.equal([]);
          expect(discrepancy).to.deep.include(found());
          expect(answer.json.details).to.have.all.keys('position', 'checks', 'discrepancies');

          const told = await operator(true);
          expect(told).to.include({ ok: false, code: 'ledger/integrity_failed' });
          expect(discrepanciesOf(told)).to.deep.equal([discrepancy]);
          requireStatus(await reconcile(ledger.live), 200);
        });
        const after = requireStatus(await reconcile(), 200);
        expect(after.json.totals).to.deep.equal(before.json.totals);
      });
    }

    itLogTable(ALTERED, 'an event that its stream does not allow, in a full run', async () => {
      const tamper = `update log.events set data = replace(data, '"amount":"100"', '"amount":"90"')
                       where stream = '${stream()}' and revision = 0`;
      await whileTampered(pool, 'log.events', tamper, async () => {
        const told = await operator(true);
        expect(told).to.include({ ok: false, code: 'ledger/integrity_failed' });
        expect(discrepanciesOf(told)[0]).to.include({ check: 'log', subject: `${stream()} 0` });
        const elsewhere = await operator(false, ledger.live);
        expect(elsewhere).to.include({ ok: false, code: 'ledger/coverage_incomplete' });
      });
      expect(await operator(false)).to.include({ ok: true });
    });

    itLogTable(
      ALTERED,
      'an event that was altered, and not what would come of it, though the log can be read',
      async () => {
        const { sessionId, userId } = await ledger.test.newSession('100');
        requireStatus(await ledger.test.settle({ sessionId }), 200);
        // The read models took it from the log as it was before.
        requireStatus(await reconcile(), 200);
        await chained();
        const account = `account-test.${ledger.app.appId}.${userId}.2`;
        const tamper = `update log.events set data = replace(data, '"payout":"100"', '"payout":"99"')
                       where stream = '${account}' and type = 'HoldClosed'`;
        await whileTampered(pool, 'log.events', tamper, async () => {
          for (const isFull of [true, false, true]) {
            const told = await operator(isFull);
            expect(told, JSON.stringify(told)).to.include({ ok: false, code: 'ledger/integrity_failed' });
            expect(discrepanciesOf(told).map(({ check, subject }) => `${check} ${subject}`)).to.deep.equal([
              `log ${account} 2`,
            ]);
            expect(await operator(false, ledger.live)).to.include({ ok: true });
          }
        });
        expect(await operator(false)).to.include({ ok: true, mode: 'full' });
        expect(await operator(false)).to.include({ ok: true, mode: 'incremental' });
      },
    );

    itLogTable(
      ALTERED,
      'an event that was altered, and not a later one that does not follow from it',
      async () => {
        const { userId } = await ledger.test.newSession('100');
        requireStatus(await reconcile(), 200);
        await chained();
        const account = `account-test.${ledger.app.appId}.${userId}.2`;
        // Consistent in itself: only the following hold of 100 exceeds what there would be.
        const tamper = `update log.events set data = replace(data, '"100"', '"90"')
                       where stream = '${account}' and revision = 0`;
        await whileTampered(pool, 'log.events', tamper, async () => {
          const told = await operator(true);
          expect(discrepanciesOf(told).map(({ check, subject }) => `${check} ${subject}`)).to.deep.equal([
            `log ${account} 0`,
          ]);
        });
        expect(await operator(false)).to.include({ ok: true });
      },
    );

    it('a checkpoint of the read models that counts other events', async () => {
      const tamper = `update ${SCHEMA}.consumers set ordinal = ordinal + 1 where name = 'readModels'`;
      await whileTampered(pool, `${SCHEMA}.consumers`, tamper, async () => {
        const answer = await reconcile();
        expect(verdict(answer), answer.text).to.equal('409 ledger/integrity_failed');
        expect(discrepanciesOf(answer.json.details)[0]).to.include({
          check: 'log',
          subject: 'checkpoint of the read models',
        });
      });
      requireStatus(await reconcile(), 200);
    });
  });

  it('warns of a transactionUuid that was used in two sessions, and of no other', async () => {
    const app = await setUpApp(ledger.client);
    const sessions = [await app.test.newSession('10'), await app.test.newSession('10')];
    for (const { sessionId } of sessions) {
      for (const transactionUuid of ['shared', 'shared', `own-${sessionId}`]) {
        requireStatus(await app.test.bet({ sessionId, transactionUuid, amount: '1' }), 200);
      }
    }
    const live = await app.live.newSession('10');
    requireStatus(
      await app.live.bet({ ...live, userId: undefined, transactionUuid: 'shared', amount: '1' }),
      200,
    );
    const { json } = requireStatus(await reconcile(app.test), 200);
    expect(json.warnings).to.deep.equal([
      {
        code: 'transaction_uuid_in_two_sessions',
        subject: 'shared',
        sessions: sessions.map(({ sessionId }) => sessionId).sort(),
      },
    ]);
    expect(requireStatus(await reconcile(app.live), 200).json.warnings).to.deep.equal([]);
  });

  it('is done once for all who ask at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => reconcile()));
    const moments = answers.map((answer) => requireStatus(answer, 200).json.checkedAt);
    expect(new Set(moments).size).to.be.lessThan(5);
  });

  it('takes no parameters, and none but a secret key', async () => {
    expect(verdict(await ledger.test.get('/ledger/reconcile?mode=full'))).to.equal('400 request/invalid');
    const publishable = { key: ledger.test.publishableKey };
    expect(verdict(await ledger.test.get('/ledger/reconcile', publishable))).to.equal(
      '403 auth/wrong_credential_kind',
    );
  });

  // Last, since it plays so much that whatever reads the log afterwards takes longer.
  describe('while there is play', () => {
    it('never tells of a moment in which bets are half done', async () => {
      let playing = true;
      const players = Array.from({ length: 8 }, async () => {
        while (playing) await play(ledger.test);
      });
      try {
        for (let run = 0; run < 15; run++) requireStatus(await reconcile(), 200);
      } finally {
        playing = false;
        // `won` and `late` are uuids of one session each, so playing again is never refused.
        await Promise.all(players);
      }
      await eventually('nothing in flight', async () => {
        const { json } = requireStatus(await reconcile(), 200);
        return (json.inFlight as readonly unknown[]).length === 0 ? true : undefined;
      });
    });
  });
});

function zeros(currency: string) {
  const accounts = ['available', 'held', 'pools', 'house', 'referrals', 'external', 'adjustments'];
  return { currency, ...Object.fromEntries(accounts.map((account) => [account, '0'])) };
}
