/** Commissions against their accruals, and withdrawn earnings against the players' accounts. Source: contract, Referrals. */
import { type CrossCheck, PLACE } from './crossCheck.ts';

/** The account that a withdrawal comes to. */
const ACCOUNT = `'account-' || $2 || '.' || $1 || '.' || user_id || '.' || currency_id`;

export const REFERRAL_CHECKS: readonly CrossCheck[] = [
  {
    name: 'commissions',
    examined: (schema) => `
      select count(*) as count from ${schema}.commissions where ${PLACE} and kind <> 'withdrawal'`,
    findings: (schema) => `
      select coalesce(c.stream, a.stream) as subject, coalesce(c.stream, a.stream) as excused_by,
             c.kind as expected_kind, c.amount::text as expected_amount, c.accruals::text as expected_accruals,
             a.kind as actual_kind, a.amount::text as actual_amount, a.accruals::text as actual_accruals
        from (select * from ${schema}.commissions
               where ${PLACE} and kind <> 'withdrawal' and accruals > 0) c
        full join (select 'commission-' || $2 || '.' || $1 || '.' || idem_key as stream, currency_id, min(kind) as kind,
                          sum(amount) as amount, count(*) as accruals
                     from ${schema}.earnings_entries where ${PLACE} and kind <> 'withdrawal'
                    group by idem_key, currency_id) a using (stream, currency_id)
       where row(c.kind, c.amount, c.accruals) is distinct from row(a.kind, a.amount, a.accruals::integer)`,
  },
  {
    name: 'earnings',
    examined: (schema) => `select count(*) as count from ${schema}.earnings where ${PLACE}`,
    findings: (schema) => `
      select stream as subject, null as excused_by,
             n.accrued::text as expected_accrued, n.withdrawn::text as expected_withdrawn,
             e.accrued::text as actual_accrued, e.withdrawn::text as actual_withdrawn
        from (select * from ${schema}.earnings where ${PLACE}) e
        full join (select stream,
                          coalesce(sum(amount) filter (where kind <> 'withdrawal'), 0) as accrued,
                          coalesce(sum(amount) filter (where kind = 'withdrawal' and status = 'booked'), 0) as withdrawn
                     from ${schema}.earnings_entries where ${PLACE} group by stream) n using (stream)
       where row(n.accrued, n.withdrawn) is distinct from row(e.accrued, e.withdrawn)`,
  },
  {
    name: 'earnings_withdrawn',
    examined: (schema) => `
      select count(*) as count from ${schema}.earnings_entries where ${PLACE} and kind = 'withdrawal'`,
    // Set aside, then the key is taken, then the account is credited: all three, or it is in flight.
    findings: (schema) => `
      select subject, subject as excused_by,
             w.amount::text as expected_amount, c.amount::text as actual_decided, p.amount::text as actual_credited
        from (select ${ACCOUNT} || ' earnings:' || idem_key as subject, amount
                from ${schema}.earnings_entries
               where ${PLACE} and kind = 'withdrawal' and status = 'booked') w
        full join (select ${ACCOUNT} || ' earnings:' || idem_key as subject, amount
                     from ${schema}.commissions where ${PLACE} and kind = 'withdrawal') c using (subject)
        full join (select stream || ' ' || subject as subject, amount
                     from ${schema}.postings
                    where ${PLACE} and account = 'available' and subject like 'earnings:%') p using (subject)
       where w.amount is distinct from c.amount or w.amount is distinct from p.amount`,
  },
  {
    name: 'referrals_balance',
    examined: (schema) => `
      select count(*) as count from ${schema}.trial_balances where ${PLACE} and account = 'referrals'`,
    // What the house owes: everything accrued that no account was credited with.
    findings: (schema) => `
      select coalesce(b.currency_id, d.currency_id)::text as subject, null as excused_by,
             coalesce(d.balance, 0)::text as expected_balance, coalesce(b.balance, 0)::text as actual_balance
        from (select * from ${schema}.trial_balances where ${PLACE} and account = 'referrals') b
        full join (select currency_id, sum(amount) as balance
                     from (select currency_id, accrued as amount from ${schema}.earnings where ${PLACE}
                           union all
                           select currency_id, -amount from ${schema}.postings
                            where ${PLACE} and account = 'available' and subject like 'earnings:%') moved
                    group by currency_id) d using (currency_id)
       where coalesce(b.balance, 0) <> coalesce(d.balance, 0)`,
  },
];
