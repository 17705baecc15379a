/**
 * Checks between rows of different kinds, derived by different rules from different streams: if both are
 * right, they agree. All of them use the rows that the log gives, at one place in it.
 */
import type { Queryable } from '@coffer/database';
import { type CrossCheck, PLACE } from './crossCheck.ts';
import { type CheckResult, type Finding, findingCheck } from './discrepancies.ts';
import { POOL_CHECKS } from './poolChecks.ts';
import { REFERRAL_CHECKS } from './referralChecks.ts';
import type { BooksPlace } from './report.ts';

/** Listing more of one kind adds nothing. */
const MOST_FINDINGS = 100;

/** A play session's hold, on the account of its player. */
const SAME_HOLD = `h.hold_id = 'session:' || s.session_id and h.user_id = s.user_id and h.currency_id = s.currency_id`;

/** The account stream on which a move of the treasury is booked. */
const ACCOUNT_OF_MOVE = `'account-' || $2 || '.' || $1 || '.' || m.user_id || '.' || m.currency_id`;

const CROSS_CHECKS: readonly CrossCheck[] = [
  {
    name: 'postings_balance',
    examined: (schema) => `select count(*) as count from ${schema}.postings where ${PLACE}`,
    findings: (schema) => `
      select stream || ' ' || revision as subject, null as excused_by,
             '0' as expected_sum, sum(amount)::text as actual_sum
        from ${schema}.postings where ${PLACE} group by stream, revision having sum(amount) <> 0`,
  },
  {
    name: 'account_postings',
    examined: (schema) => `select count(*) as count from ${schema}.accounts where ${PLACE}`,
    findings: (schema) => `
      select stream as subject, null as excused_by,
             p.available::text as expected_available, p.held::text as expected_held,
             a.available::text as actual_available, a.held::text as actual_held
        from (select * from ${schema}.accounts where ${PLACE}) a
        full join (select stream, coalesce(sum(amount) filter (where account = 'available'), 0) as available,
                          coalesce(sum(amount) filter (where account = 'held'), 0) as held
                     from ${schema}.postings where ${PLACE} and user_id is not null group by stream) p using (stream)
       where row(p.available, p.held) is distinct from row(a.available, a.held)`,
  },
  {
    name: 'held_funds',
    examined: (schema) => `select count(*) as count from ${schema}.accounts where ${PLACE}`,
    findings: (schema) => `
      select stream as subject, null as excused_by, h.held::text as expected_held, a.held::text as actual_held
        from (select * from ${schema}.accounts where ${PLACE}) a
        full join (select stream, sum(amount) as held from ${schema}.holds
                    where ${PLACE} and payout is null group by stream) h using (stream)
       where coalesce(h.held, 0) <> coalesce(a.held, 0)`,
  },
  {
    name: 'trial_balance',
    examined: (schema) => `select count(*) as count from ${schema}.trial_balances where ${PLACE}`,
    findings: (schema) => `
      select currency_id || ' ' || account as subject, null as excused_by,
             p.balance::text as expected_balance, b.balance::text as actual_balance
        from (select * from ${schema}.trial_balances where ${PLACE}) b
        full join (select currency_id, account, sum(amount) as balance from ${schema}.postings
                    where ${PLACE} group by currency_id, account) p using (currency_id, account)
       where p.balance is distinct from b.balance
      union all
      select currency_id::text, null, '0', sum(balance)::text
        from ${schema}.trial_balances where ${PLACE} group by currency_id having sum(balance) <> 0`,
  },
  {
    name: 'open_holds',
    examined: (schema) => `
      select count(*) as count from ${schema}.holds where ${PLACE} and purpose = 'session' and payout is null`,
    findings: (schema) => `
      select coalesce(h.stream || ' ' || h.hold_id, s.session_id) as subject,
             h.stream || ' ' || h.hold_id as excused_by,
             s.lock_amount::text as expected_amount, h.amount::text as actual_amount
        from (select * from ${schema}.play_sessions where ${PLACE} and status = 'open') s
        full join (select * from ${schema}.holds
                    where ${PLACE} and purpose = 'session' and payout is null) h on ${SAME_HOLD}
       where s.lock_amount is distinct from h.amount`,
  },
  {
    name: 'settled_holds',
    examined: (schema) => `
      select count(*) as count from ${schema}.play_sessions where ${PLACE} and status = 'settled'`,
    // A hold that was given back in full belongs to an open that lost to another: it needs no session.
    findings: (schema) => `
      select coalesce(h.stream || ' ' || h.hold_id, s.session_id) as subject,
             h.stream || ' ' || h.hold_id as excused_by,
             s.lock_amount::text as expected_amount, s.payout::text as expected_payout,
             h.amount::text as actual_amount, h.payout::text as actual_payout
        from (select * from ${schema}.play_sessions where ${PLACE} and status = 'settled') s
        full join (select * from ${schema}.holds where ${PLACE} and purpose = 'session') h on ${SAME_HOLD}
       where (s.session_id is not null and row(s.lock_amount, s.payout) is distinct from row(h.amount, h.payout))
          or (s.session_id is null and h.payout <> h.amount)`,
  },
  {
    name: 'late_rollbacks',
    examined: (schema) => `
      select count(*) as count from ${schema}.play_sessions where ${PLACE} and late_rolled_back <> 0`,
    // Logs of earlier releases hold entries of 0 for late rollbacks of nothing: nobody owes them, and they agree.
    findings: (schema) => `
      select coalesce(c.stream || ' rollback:' || session_id, session_id) as subject,
             'account-' || $2 || '.' || $1 || '.' || s.user_id || '.' || s.currency_id
               || ' rollback:' || session_id || '/' as excused_by,
             s.late_rolled_back::text as expected_credited, c.credited::text as actual_credited
        from (select * from ${schema}.play_sessions where ${PLACE} and late_rolled_back <> 0) s
        full join (select substring(subject from '^rollback:([^/]+)/') as session_id, stream,
                          sum(amount) as credited
                     from ${schema}.postings
                    where ${PLACE} and account = 'available' and subject like 'rollback:%'
                    group by 1, stream) c using (session_id)
       where coalesce(s.late_rolled_back, 0) <> coalesce(c.credited, 0)`,
  },
  {
    name: 'deposits',
    examined: (schema) => `
      select count(*) as count from ${schema}.moves
       where ${PLACE} and operation = 'deposit' and status = 'confirmed'`,
    findings: (schema) => `
      select coalesce(p.stream, ${ACCOUNT_OF_MOVE}) || ' ' || coalesce(p.subject, 'deposit:' || m.key) as subject,
             ${ACCOUNT_OF_MOVE} || ' deposit:' || m.key as excused_by,
             m.amount::text as expected_credited, p.amount::text as actual_credited
        from (select * from ${schema}.moves
               where ${PLACE} and operation = 'deposit' and status = 'confirmed') m
        full join (select * from ${schema}.postings
                    where ${PLACE} and account = 'available' and subject like 'deposit:%') p
          on p.subject = 'deposit:' || m.key and p.user_id = m.user_id and p.currency_id = m.currency_id
       where m.amount is distinct from p.amount`,
  },
  {
    name: 'cash_outs',
    examined: (schema) =>
      `select count(*) as count from ${schema}.holds where ${PLACE} and purpose = 'cashout'`,
    // A hold that was given back in full belongs to a cash-out whose ref was already taken: it has no move.
    findings: (schema) => `
      select coalesce(h.stream || ' ' || h.hold_id, ${ACCOUNT_OF_MOVE} || ' cashout:' || m.key) as subject,
             h.stream || ' ' || h.hold_id as excused_by,
             m.amount::text as expected_amount, m.payout::text as expected_payout,
             m.status as expected_move_status,
             h.amount::text as actual_amount, h.payout::text as actual_payout
        from (select *, case status when 'confirmed' then 0 when 'failed' then amount end as payout
                from ${schema}.moves where ${PLACE} and operation = 'cashOut') m
        full join (select * from ${schema}.holds where ${PLACE} and purpose = 'cashout') h
          on h.hold_id = 'cashout:' || m.key and h.user_id = m.user_id and h.currency_id = m.currency_id
       where (m.key is not null and row(m.amount, m.payout) is distinct from row(h.amount, h.payout))
          or (m.key is null and not (h.payout is not distinct from h.amount and exists (
                select from ${schema}.moves other
                 where other.app_id = h.app_id and other.environment = h.environment
                   and other.key = substr(h.hold_id, length('cashout:') + 1)
                   and other.operation <> 'withdraw')))`,
  },
  ...POOL_CHECKS,
  ...REFERRAL_CHECKS,
];

/** `inFlight` holds the subjects of what is in flight. */
export async function crossChecks(
  db: Queryable,
  schema: string,
  { appId, environment }: BooksPlace,
  inFlight: readonly string[],
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, examined, findings } of CROSS_CHECKS) {
    const values = [appId, environment];
    const counted = await db.query(examined(schema), values);
    // Those in flight are found as well, so the limit leaves room for them: they must not hide real faults.
    const limit = MOST_FINDINGS + inFlight.length;
    const found = await db.query(
      `select * from (${findings(schema)}) found order by subject limit ${limit}`,
      values,
    );
    const all = found.rows.map(findingOf);
    const result = findingCheck(name, Number(counted.rows[0]?.count), all, inFlight);
    results.push({ ...result, discrepancies: result.discrepancies.slice(0, MOST_FINDINGS) });
  }
  return results;
}

function findingOf(row: Readonly<Record<string, string | null>>): Finding {
  const side = (prefix: string) => {
    const figures = Object.entries(row)
      .filter(([column]) => column.startsWith(prefix))
      .map(([column, value]) => [column.slice(prefix.length), value] as const);
    return figures.every(([, value]) => value === null) ? null : Object.fromEntries(figures);
  };
  return {
    subject: String(row.subject),
    expected: side('expected_'),
    actual: side('actual_'),
    excusedBy: row.excused_by ?? undefined,
  };
}
