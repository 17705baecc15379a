/** Pools against the holds of their stakes, and their rake against the house. Source: contract, Custody. */
import { type CrossCheck, PLACE } from './crossCheck.ts';

/** A stake's hold, on the account of its player. */
const HOLD_OF_STAKE = 'h.stream = s.account and h.hold_id = s.hold_id';

export const POOL_CHECKS: readonly CrossCheck[] = [
  {
    name: 'open_stakes',
    examined: (schema) => `
      select count(*) as count from ${schema}.holds where ${PLACE} and purpose = 'stake' and payout is null`,
    // The end of a pool owes many holds, in flight under the name of the one that is closed last.
    findings: (schema) => `
      select coalesce(h.stream || ' ' || h.hold_id, s.account || ' ' || s.hold_id) as subject,
             case when s.credit_due then p.last_credit else h.stream || ' ' || h.hold_id end as excused_by,
             s.status as expected_status, s.amount::text as expected_amount,
             h.amount::text as actual_amount
        from (select * from ${schema}.pool_stakes where ${PLACE}) s
        left join ${schema}.pools p on p.stream = s.stream
        full join (select * from ${schema}.holds
                    where ${PLACE} and purpose = 'stake' and payout is null) h on ${HOLD_OF_STAKE}
       where case when coalesce(s.status in ('locked', 'confirmed'), false)
                  then s.amount is distinct from h.amount
                  else h.stream is not null end`,
  },
  {
    name: 'closed_stakes',
    examined: (schema) => `
      select count(*) as count from ${schema}.pool_stakes
       where ${PLACE} and status not in ('locked', 'confirmed')`,
    // A hold that was given back in full belongs to a lock that came too late: it needs no stake.
    findings: (schema) => `
      select coalesce(h.stream || ' ' || h.hold_id, s.account || ' ' || s.hold_id) as subject,
             null as excused_by,
             s.status as expected_status, s.amount::text as expected_amount,
             coalesce(s.payout, s.amount)::text as expected_payout,
             h.amount::text as actual_amount, h.payout::text as actual_payout
        from (select * from ${schema}.pool_stakes
               where ${PLACE} and status not in ('locked', 'confirmed')) s
        full join (select * from ${schema}.holds where ${PLACE} and purpose = 'stake') h on ${HOLD_OF_STAKE}
       where case when s.stream is null then h.payout <> h.amount
                  else h.stream is null or s.amount <> h.amount
                       or (h.payout is not null and h.payout <> coalesce(s.payout, s.amount)) end`,
  },
  {
    name: 'pools',
    examined: (schema) => `select count(*) as count from ${schema}.pools where ${PLACE}`,
    findings: (schema) => `
      select coalesce(p.stream, s.stream) as subject, null as excused_by,
             s.locked::text as expected_locked, s.confirmed::text as expected_confirmed,
             s.credits::text as expected_credits, s.paid::text as expected_paid,
             p.locked::text as actual_locked, p.confirmed::text as actual_confirmed,
             p.credits::text as actual_credits, p.paid::text as actual_paid
        from (select *, case status when 'settled' then confirmed - rake
                                    when 'refunded' then locked + confirmed end as paid
                from ${schema}.pools where ${PLACE}) p
        full join (select stream,
                          sum(case status when 'locked' then amount else 0 end) as locked,
                          sum(case when status in ('confirmed', 'settled') then amount else 0 end) as confirmed,
                          sum(case status when 'refunded' then amount else 0 end) as refunded,
                          count(*) filter (where credit_due) as credits,
                          sum(payout) as paid
                     from ${schema}.pool_stakes where ${PLACE} group by stream) s using (stream)
       where row(p.credits, coalesce(p.paid, 0)) is distinct from row(s.credits::integer, coalesce(s.paid, 0))
          or case p.status when 'refunded' then p.locked + p.confirmed <> s.refunded
                           else row(p.locked, p.confirmed) is distinct from row(s.locked, s.confirmed) end`,
  },
  {
    name: 'pool_rakes',
    examined: (schema) => `
      select count(*) as count from ${schema}.pools where ${PLACE} and status = 'settled'`,
    findings: (schema) => `
      select coalesce(p.stream, r.stream) as subject, null as excused_by,
             p.rake::text as expected_rake, r.rake::text as actual_rake
        from (select * from ${schema}.pools where ${PLACE} and rake <> 0) p
        full join (select stream, sum(amount) as rake from ${schema}.postings
                    where ${PLACE} and account = 'house' and user_id is null and subject like 'pool:%'
                    group by stream) r using (stream)
       where p.rake is distinct from r.rake`,
  },
  {
    name: 'pools_balance',
    examined: (schema) => `
      select count(*) as count from ${schema}.trial_balances where ${PLACE} and account = 'pools'`,
    // What closed pools have not credited yet: 0 when all credits are done.
    findings: (schema) => `
      select coalesce(b.currency_id, d.currency_id)::text as subject, null as excused_by,
             coalesce(d.balance, 0)::text as expected_balance, coalesce(b.balance, 0)::text as actual_balance
        from (select * from ${schema}.trial_balances where ${PLACE} and account = 'pools') b
        full join (select s.currency_id, sum(coalesce(s.payout, s.amount) - s.amount) as balance
                     from ${schema}.pool_stakes s join ${schema}.holds h on ${HOLD_OF_STAKE}
                    where s.app_id = $1 and s.environment = $2 and s.credit_due and h.payout is null
                    group by s.currency_id) d using (currency_id)
       where coalesce(b.balance, 0) <> coalesce(d.balance, 0)`,
  },
];
